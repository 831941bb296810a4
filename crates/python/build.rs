//! On macOS the symbols of Python are looked up when the module is loaded.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[allow(clippy::disallowed_methods, reason = "this is how Cargo talks to build scripts")]
    let system = std::env::var("CARGO_CFG_TARGET_OS");
    if system.is_ok_and(|system| system == "macos") {
        println!("cargo::rustc-cdylib-link-arg=-undefined");
        println!("cargo::rustc-cdylib-link-arg=dynamic_lookup");
    }
}
