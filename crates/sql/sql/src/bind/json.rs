//! Arguments of the aggregates that make JSON. An aggregate sees values alone: not the session's styles, and rows only as one
//! type. So what is a row, or prints by a style, is JSON before it is aggregated.

use super::Binder;
use super::coerce::LocatedExpr;
use crate::error::Result;
use crate::types::Scalar;

/// Aggregates that return their arguments as JSON.
const MAKERS: &[&str] = &["json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"];

impl Binder<'_, '_> {
    /// Arguments of an aggregate, and whether there are rows among them.
    pub(super) fn values_as_json(
        &mut self,
        name: &str,
        arguments: Vec<LocatedExpr>,
    ) -> Result<(Vec<LocatedExpr>, bool)> {
        if !MAKERS.contains(&name) {
            return Ok((arguments, false));
        }
        let has_rows = arguments.iter().any(|(argument, _)| argument.data_type.is_row());
        // The first argument of these is a name, which is no JSON.
        let names = usize::from(name.contains("object"));
        let mut converted = Vec::with_capacity(arguments.len());
        for (place, (argument, at)) in arguments.into_iter().enumerate() {
            let data_type = argument.data_type;
            let has_styles = matches!(data_type.scalar, Scalar::Timestamptz | Scalar::Interval | Scalar::Bytea);
            let converts = data_type.is_row() || (has_styles && !data_type.is_array);
            let argument = match place >= names && converts {
                true => self.call_by_name("to_json", vec![(argument, at)], at)?,
                false => argument,
            };
            converted.push((argument, at));
        }
        Ok((converted, has_rows))
    }
}
