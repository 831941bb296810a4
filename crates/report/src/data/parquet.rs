//! Parquet without Arrow: one row group per hundred thousand rows, no compression.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::{Data, Values};

/// Rows that are held together in a file.
const GROUP: usize = 100_000;

pub(super) fn write(data: &Data, out: impl Write + Send) -> io::Result<()> {
    write_parquet(data, out).map_err(|error| match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    })
}

fn write_parquet(data: &Data, out: impl Write + Send) -> Result<(), ParquetError> {
    let properties = WriterProperties::builder()
        .set_created_by(concat!("slotcast version ", env!("CARGO_PKG_VERSION")).into());
    let properties = Arc::new(properties.build());
    let mut file = SerializedFileWriter::new(out, schema(data)?, properties)?;
    let mut from = 0;
    while from < data.len() {
        let rows = from..(from + GROUP).min(data.len());
        let mut group = file.next_row_group()?;
        for column in &data.columns {
            let mut writer = group.next_column()?.expect("the schema has the data's columns");
            match &column.values {
                Values::Numbers(values) => {
                    let (levels, present) = defined(values, &rows);
                    writer.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
                }
                Values::Texts(values) => {
                    let texts: Vec<ByteArray> =
                        values[rows.clone()].iter().map(|text| text.as_str().into()).collect();
                    writer.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        from = rows.end;
    }
    file.close()?;
    Ok(())
}

/// Which of the numbers are there, and those.
fn defined(values: &[f64], rows: &Range<usize>) -> (Vec<i16>, Vec<f64>) {
    let values = &values[rows.clone()];
    let levels = values.iter().map(|value| i16::from(value.is_finite())).collect();
    (levels, values.iter().copied().filter(|value| value.is_finite()).collect())
}

fn schema(data: &Data) -> Result<TypePtr, ParquetError> {
    let fields = data.columns.iter().map(|column| {
        let field = match column.values {
            Values::Numbers(_) => Type::primitive_type_builder(&column.name, Physical::DOUBLE)
                .with_repetition(Repetition::OPTIONAL),
            Values::Texts(_) => Type::primitive_type_builder(&column.name, Physical::BYTE_ARRAY)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::String)),
        };
        field.build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Type::group_type_builder("slotcast").with_fields(fields).build()?))
}
