//! Eigenvalues and eigenvectors of symmetric matrices, by Jacobi's rotations.

/// Most sweeps over all pairs of rows; ten do for matrices of some dozens of rows.
const MAX_SWEEPS: usize = 50;

/// The eigenvalues of the symmetric matrix `a`, given as rows, and a matrix whose columns are their eigenvectors.
pub(crate) fn symmetric_eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let mut vectors = vec![vec![0.0; n]; n];
    for (i, row) in vectors.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for _ in 0..MAX_SWEEPS {
        let off: f64 =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        let on: f64 = (0..n).map(|i| a[i][i] * a[i][i]).sum();
        if off <= 1e-30 * on || off == 0.0 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut vectors, p, q);
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), vectors)
}

/// Turns rows and columns `p` and `q` so that what they share becomes zero.
fn rotate(a: &mut [Vec<f64>], vectors: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let sign = if theta < 0.0 { -1.0 } else { 1.0 };
    let t = sign / (theta.abs() + f64::sqrt(theta * theta + 1.0));
    let c = 1.0 / f64::sqrt(t * t + 1.0);
    let s = t * c;
    for row in a.iter_mut() {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
    let (above, below) = a.split_at_mut(q);
    for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
    for row in vectors {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_random::Streams;

    #[test]
    fn the_matrix_is_its_parts_again() {
        let mut stream = Streams::new(1).stream("test", 0);
        for n in 1..12 {
            let half: Vec<Vec<f64>> =
                (0..n).map(|_| (0..n).map(|_| stream.unit() - 0.5).collect()).collect();
            let sum = |i: usize, j: usize| half[i][j] + half[j][i];
            let a: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| sum(i, j)).collect()).collect();
            let (values, vectors) = symmetric_eigen(a.clone());
            for i in 0..n {
                for j in 0..n {
                    let sum: f64 = (0..n).map(|k| vectors[i][k] * values[k] * vectors[j][k]).sum();
                    assert!((sum - a[i][j]).abs() < 1e-12, "{n}: {sum} {}", a[i][j]);
                    let product: f64 = (0..n).map(|k| vectors[k][i] * vectors[k][j]).sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12, "orthonormal");
                }
            }
        }
    }
}
