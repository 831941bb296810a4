//! What makes two runs the same: the program, the whole configuration and the seed.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use crate::configuration::Configuration;
use crate::setting::CLUSTER;

/// 128-bit FNV-1a (Fowler, Noll, Vo): simple, and the same on every machine and in every version of
/// the program. Nobody who could make two texts collide has a reason to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fnv(u128);

impl Fnv {
    const fn new() -> Fnv {
        Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte))
                .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

/// The program that does the runs: another build may find something else with the same seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program(u128);

impl Program {
    /// The one that is running: a hash over its file. Costs some milliseconds.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of_this_process() -> io::Result<Program> {
        // The file may have been replaced since it was started; Linux still has it under this name.
        let file = File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?));
        Program::of(file?)
    }

    /// The one in the file at `path`, such as a library that another program has loaded.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Program> {
        Program::of(File::open(path)?)
    }

    fn of(mut file: File) -> io::Result<Program> {
        let mut hash = Fnv::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Program(hash.0)),
                count => hash.write(&buffer[..count]),
            }
        }
    }
}

/// The name of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunKey(u128);

impl RunKey {
    /// Of the run of `configuration` with `seed` by `program`. The seeds of the configuration do not
    /// matter: a sweep that is given more of them goes on with those it has.
    pub fn of(program: &Program, configuration: &Configuration, seed: u64) -> RunKey {
        let mut hash = Fnv::new();
        hash.write(format!("{:032x}\nseed={seed}\n", program.0).as_bytes());
        for setting in CLUSTER.settings.iter().filter(|setting| setting.section() != "seeds") {
            hash.write(format!("{}={}\n", setting.key, setting.text(configuration)).as_bytes());
        }
        RunKey(hash.0)
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for RunKey {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<RunKey, Self::Err> {
        u128::from_str_radix(text, 16).map(RunKey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_units::Span;

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of draft-eastlake-fnv.
        let of = |text: &str| {
            let mut hash = Fnv::new();
            hash.write(text.as_bytes());
            hash.0
        };
        assert_eq!(of(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(of("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn a_run_is_named_by_program_configuration_and_seed() {
        let program = Program(7);
        let configuration = Configuration::default();
        let key = RunKey::of(&program, &configuration, 1);
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_ne!(key, RunKey::of(&program, &configuration, 2));
        assert_ne!(key, RunKey::of(&Program(8), &configuration, 1));
        let mut other = configuration.clone();
        other.scenario.run.length += Span::from_ns(1);
        assert_ne!(key, RunKey::of(&program, &other, 1));
        let mut more = configuration;
        more.seeds.count += 5;
        assert_eq!(key, RunKey::of(&program, &more, 1));
    }

    #[test]
    fn this_program_has_a_name() {
        let program = Program::of_this_process().unwrap();
        assert_eq!(program, Program::of_this_process().unwrap());
        assert_eq!(program, Program::of_file(&std::env::current_exe().unwrap()).unwrap());
    }
}
