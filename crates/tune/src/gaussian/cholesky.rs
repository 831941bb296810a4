//! Positive definite systems of equations.

/// The lower triangle L of a matrix that is L times its transpose; row i has i + 1 numbers.
#[derive(Debug, Clone)]
pub(super) struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Of the matrix whose number at (row, column) with column <= row is `entry`; none if it is not positive
    /// definite.
    pub(super) fn of(n: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Cholesky> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(n);
        for i in 0..n {
            let mut row = vec![0.0; i + 1];
            for j in 0..=i {
                let done = if j < i { &rows[j][..j] } else { &[] };
                let rest = if j < i {
                    entry(i, j) - dot(&row[..j], done)
                } else {
                    entry(i, i) - dot(&row[..i], &row[..i])
                };
                if j < i {
                    row[j] = rest / rows[j][j];
                } else if rest > 0.0 {
                    row[i] = f64::sqrt(rest);
                } else {
                    return None;
                }
            }
            rows.push(row);
        }
        Some(Cholesky { rows })
    }

    /// The x for which L x is `b`.
    pub(super) fn forward(&self, b: &[f64]) -> Vec<f64> {
        let mut x = Vec::with_capacity(b.len());
        for (row, b) in self.rows.iter().zip(b) {
            let rest = b - dot(&row[..x.len()], &x);
            x.push(rest / row[x.len()]);
        }
        x
    }

    /// The x for which the whole matrix times x is `b`.
    pub(super) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = self.forward(b);
        for i in (0..x.len()).rev() {
            x[i] /= self.rows[i][i];
            let (above, at) = x.split_at_mut(i);
            for (above, factor) in above.iter_mut().zip(&self.rows[i]) {
                *above -= factor * at[0];
            }
        }
        x
    }

    /// Half the logarithm of the determinant.
    pub(super) fn half_log_determinant(&self) -> f64 {
        self.rows.iter().enumerate().map(|(i, row)| libm::log(row[i])).sum()
    }

    /// The inverse of the whole matrix, as full rows.
    pub(super) fn inverse(&self) -> Vec<Vec<f64>> {
        let n = self.rows.len();
        // Row i of the transposed inverse of L begins at its diagonal: what is before is zero.
        let mut columns = vec![vec![0.0; n]; n];
        for (start, column) in columns.iter_mut().enumerate() {
            column[start] = 1.0 / self.rows[start][start];
            for i in start + 1..n {
                let rest = dot(&self.rows[i][start..i], &column[start..i]);
                column[i] = -rest / self.rows[i][i];
            }
        }
        let mut inverse = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in 0..=i {
                let value = dot(&columns[i][i..], &columns[j][i..]);
                (inverse[i][j], inverse[j][i]) = (value, value);
            }
        }
        inverse
    }
}

/// The sum of products, in four parts, which a processor can add up side by side.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in a.zip(b) {
        for part in 0..4 {
            sums[part] += a[part] * b[part];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_random::Streams;

    fn matrix(n: usize) -> Vec<Vec<f64>> {
        let mut stream = Streams::new(1).stream("test", 0);
        let a: Vec<Vec<f64>> =
            (0..n).map(|_| (0..n).map(|_| stream.unit() - 0.5).collect()).collect();
        let entry = |i: usize, j: usize| dot(&a[i], &a[j]) + f64::from(u8::from(i == j));
        (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
    }

    #[test]
    fn equations_are_solved() {
        for n in 1..20 {
            let matrix = matrix(n);
            let factors = Cholesky::of(n, |i, j| matrix[i][j]).expect("positive definite");
            let b: Vec<f64> = (0..n).map(|i| i as f64 - 2.0).collect();
            let x = factors.solve(&b);
            let inverse = factors.inverse();
            for i in 0..n {
                assert!((dot(&matrix[i], &x) - b[i]).abs() < 1e-10);
                assert!((dot(&inverse[i], &b) - x[i]).abs() < 1e-10);
            }
            let x = factors.forward(&b);
            for i in 0..n {
                assert!((dot(&factors.rows[i], &x[..=i]) - b[i]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn the_determinant_is_that_of_the_matrix() {
        let factors = Cholesky::of(2, |i, j| [[4.0, 0.0], [2.0, 5.0]][i][j]).expect("positive");
        assert!((2.0 * factors.half_log_determinant() - libm::log(16.0)).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factors() {
        assert!(Cholesky::of(2, |i, j| [[1.0, 0.0], [2.0, 1.0]][i][j]).is_none());
    }
}
