//! What a page says, as plain data: a question, its answer, and what bears it out.

use crate::chart::Chart;
use crate::data::Data;

/// A whole report.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Heading.
    pub title: String,
    /// What is asked.
    pub question: String,
    /// The answer in one sentence, with its interval.
    pub answer: String,
    /// Names and values for the foot of the heading: seeds, runs, trace hash.
    pub facts: Vec<(String, String)>,
    /// The parts of the page.
    pub sections: Vec<Section>,
    /// Data beyond what the pictures show.
    pub data: Vec<Data>,
}

impl Page {
    /// Every picture, in order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Chart(chart) => Some(chart),
            _ => None,
        })
    }
}

/// A part of a page.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Names its place in the page: small letters, digits and hyphens.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What is asked; empty if the page's own question is enough.
    pub question: String,
    /// Its answer; empty if there is no question.
    pub answer: String,
    /// What bears it out.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section with no question of its own.
    pub fn new(id: impl Into<String>, title: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section { id: id.into(), title: title.into(), blocks, ..Section::default() }
    }
}

/// One thing in a section.
#[derive(Debug, Clone)]
pub enum Block {
    /// A heading inside the section.
    Heading(String),
    /// Some sentences.
    Text(String),
    /// Remarks, one below the other.
    Notes(Vec<Note>),
    /// A table.
    Table(Table),
    /// A picture.
    Chart(Chart),
}

/// A remark.
#[derive(Debug, Clone)]
pub struct Note {
    /// What it says.
    pub text: String,
    /// How that is to be taken. The text says it too.
    pub tone: Tone,
}

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it holds.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, with one cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// What a reader must know, below the table.
    pub notes: Vec<String>,
    /// Hidden until a reader opens it: for long tables.
    pub folded: bool,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// Heading.
    pub title: String,
    /// Whether it holds numbers, which stand to the right.
    pub number: bool,
}

/// A column of words.
pub fn words(title: &str) -> Column {
    Column { title: title.into(), number: false }
}

/// A column of numbers.
pub fn numbers(title: &str) -> Column {
    Column { title: title.into(), number: true }
}

/// A cell of a table.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// How that is to be taken. The text says it too.
    pub tone: Tone,
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Cell {
        Cell { text: text.into(), tone: Tone::Plain }
    }
}

/// How something is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// A plain fact.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Could be either way.
    Open,
}

impl Tone {
    /// The class of the page's style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Open => "open",
        }
    }
}
