//! The layout of datagrams is described twice, and the two say the same.

const PAGE: &str = include_str!("../../../docs/operate/cluster.md");
const MODULE: &str = include_str!("../src/datagram.rs");

fn rows(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with('|')).collect()
}

#[test]
fn the_page_and_the_module_have_the_same_tables() {
    let module: Vec<&str> = MODULE.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    let module = module.join("\n");
    assert!(rows(&module).len() > 15, "the module has tables");
    let page = PAGE.split("## Datagrams").nth(1).expect("the page has that heading");
    let page = page.split("\n## ").next().expect("what comes before the next one");
    let page = page.replace("[wire form](../understand/wire.md)", "wire form");
    assert_eq!(rows(&page), rows(&module));
}
