//! CSV and Parquet hold the same, and everything.

mod charts;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use slotcast_report::data::{Data, numbers, texts};

/// A table as texts: names, then rows. What is missing is empty.
type Table = Vec<Vec<String>>;

fn from_csv(data: &Data) -> Table {
    let mut bytes = Vec::new();
    data.write_csv(&mut bytes).expect("memory does not fail");
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
    reader.records().map(|r| r.expect("a record").iter().map(str::to_string).collect()).collect()
}

fn from_parquet(data: &Data) -> Table {
    let mut bytes = Vec::new();
    data.write_parquet(&mut bytes).expect("memory does not fail");
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file");
    let schema = reader.metadata().file_metadata().schema().get_fields().to_vec();
    let mut table = vec![schema.iter().map(|field| field.name().to_string()).collect()];
    for row in reader.get_row_iter(None).expect("rows") {
        let row = row.expect("a row");
        let texts = row.get_column_iter().map(|(_, field)| match field {
            Field::Double(value) => value.to_string(),
            Field::Str(text) => text.clone(),
            Field::Null => String::new(),
            other => panic!("{other}"),
        });
        table.push(texts.collect());
    }
    table
}

#[test]
fn parquet_read_back_is_the_csv() {
    for chart in [charts::bars(), charts::lines(), charts::heat(), charts::timeline()] {
        let data = Data::from(&chart);
        let csv = from_csv(&data);
        assert_eq!(csv.len(), data.len() + 1, "{}", chart.name);
        assert_eq!(from_parquet(&data), csv, "{}", chart.name);
    }
}

#[test]
fn columns_say_their_units_and_missing_values_are_missing() {
    let csv = from_csv(&Data::from(&charts::bars()));
    let names = [
        "series",
        "disk_rate_mib_per_s",
        "throughput_chunks_per_s",
        "ci95_throughput_chunks_per_s",
    ];
    assert_eq!(csv[0], names);
    assert_eq!(csv[1], ["a", "400", "10000.5", "500.25"]);
    assert_eq!(csv[4], ["a, published", "1000", "", ""]);
    let csv = from_csv(&Data::from(&charts::timeline()));
    assert_eq!(csv[0], ["target", "state", "start_time_us", "end_time_us", "label"]);
    assert_eq!(csv[1], ["t0", "used", "0", "10.5", "request 1.2"]);
}

#[test]
fn many_rows_and_odd_texts_survive() {
    let count = 250_001;
    let values: Vec<f64> = (0..count).map(|i| f64::from(i) / 3.0).collect();
    let names = (0..count).map(|i| format!("\"{i}\", ü\n")).collect();
    let data = Data::new("many", vec![texts("name", names), numbers("value", values)]);
    let csv = from_csv(&data);
    assert_eq!(csv.len(), 250_002);
    assert_eq!(csv[250_001], ["\"250000\", ü\n".to_string(), (250_000.0 / 3.0f64).to_string()]);
    assert_eq!(from_parquet(&data), csv);
}

#[test]
fn a_table_without_rows_is_a_table() {
    let data = Data::new("none", vec![texts("name", Vec::new()), numbers("value", Vec::new())]);
    assert!(data.is_empty());
    assert_eq!(from_csv(&data), [["name", "value"]]);
    assert_eq!(from_parquet(&data), [["name", "value"]]);
}
