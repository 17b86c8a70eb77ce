//! Properties of each type, as in `pg_type`.

use super::{Modifier, Scalar, Type, defined};
use smol_str::SmolStr;

/// A row of `pg_type`, with the name and object identifier of its array type.
pub(super) struct Facts {
    pub scalar: Scalar,
    pub oid: u32,
    /// 0: no array.
    pub array_oid: u32,
    pub internal_name: &'static str,
    pub array_name: &'static str,
    pub sql_name: &'static str,
    pub length: i16,
    pub by_value: bool,
    pub category: char,
    pub preferred: bool,
}

macro_rules! facts {
    ($($scalar:ident $oid:literal $array:literal $name:literal $sql:literal $length:literal $by_value:literal $category:literal $preferred:literal;)*) => {
        /// Places in [`FACTS`].
        enum Place {
            $($scalar),*
        }

        impl Scalar {
            fn place(self) -> Option<usize> {
                match self {
                    $(Scalar::$scalar => Some(Place::$scalar as usize),)*
                    Scalar::Enum(_) | Scalar::Composite(_) => None,
                }
            }
        }

        /// In the order of [`Scalar`].
        pub(super) static FACTS: &[Facts] = &[$(Facts {
            scalar: Scalar::$scalar,
            oid: $oid,
            array_oid: $array,
            internal_name: $name,
            array_name: concat!("_", $name),
            sql_name: $sql,
            length: $length,
            by_value: $by_value,
            category: $category,
            preferred: $preferred,
        }),*];
    };
}

facts! {
    Bool 16 1000 "bool" "boolean" 1 true 'B' true;
    Int2 21 1005 "int2" "smallint" 2 true 'N' false;
    Int4 23 1007 "int4" "integer" 4 true 'N' false;
    Int8 20 1016 "int8" "bigint" 8 true 'N' false;
    Float4 700 1021 "float4" "real" 4 true 'N' false;
    Float8 701 1022 "float8" "double precision" 8 true 'N' true;
    Numeric 1700 1231 "numeric" "numeric" -1 false 'N' false;
    Text 25 1009 "text" "text" -1 false 'S' true;
    Varchar 1043 1015 "varchar" "character varying" -1 false 'S' false;
    Bpchar 1042 1014 "bpchar" "bpchar" -1 false 'S' false;
    Name 19 1003 "name" "name" 64 false 'S' false;
    Char 18 1002 "char" "\"char\"" 1 true 'Z' false;
    Bytea 17 1001 "bytea" "bytea" -1 false 'U' false;
    Date 1082 1182 "date" "date" 4 true 'D' false;
    Time 1083 1183 "time" "time without time zone" 8 true 'D' false;
    Timestamp 1114 1115 "timestamp" "timestamp without time zone" 8 true 'D' false;
    Timestamptz 1184 1185 "timestamptz" "timestamp with time zone" 8 true 'D' true;
    Interval 1186 1187 "interval" "interval" 16 false 'T' true;
    Uuid 2950 2951 "uuid" "uuid" 16 false 'U' false;
    Json 114 199 "json" "json" -1 false 'U' false;
    Jsonb 3802 3807 "jsonb" "jsonb" -1 false 'U' false;
    Oid 26 1028 "oid" "oid" 4 true 'N' true;
    Xid 28 1011 "xid" "xid" 4 true 'U' false;
    Regclass 2205 2210 "regclass" "regclass" 4 true 'N' false;
    Regtype 2206 2211 "regtype" "regtype" 4 true 'N' false;
    Regproc 24 1008 "regproc" "regproc" 4 true 'N' false;
    Regnamespace 4089 4090 "regnamespace" "regnamespace" 4 true 'N' false;
    Regrole 4096 4097 "regrole" "regrole" 4 true 'N' false;
    Int2Vector 22 1006 "int2vector" "int2vector" -1 false 'A' false;
    OidVector 30 1013 "oidvector" "oidvector" -1 false 'A' false;
    PgNodeTree 194 0 "pg_node_tree" "pg_node_tree" -1 false 'Z' false;
    AclItem 1033 1034 "aclitem" "aclitem" 12 false 'U' false;
    Record 2249 2287 "record" "record" -1 false 'P' false;
    Void 2278 0 "void" "void" 4 true 'P' false;
    Unknown 705 0 "unknown" "unknown" -2 false 'X' false;
    Regprocedure 2202 2207 "regprocedure" "regprocedure" 4 true 'N' false;
    Regoper 2203 2208 "regoper" "regoper" 4 true 'N' false;
    Regoperator 2204 2209 "regoperator" "regoperator" 4 true 'N' false;
    Regcollation 4191 4192 "regcollation" "regcollation" 4 true 'N' false;
    Tid 27 1010 "tid" "tid" 6 false 'U' false;
}

/// What all enums have in common.
static ENUM: Facts = Facts {
    scalar: Scalar::Enum(0),
    oid: 0,
    array_oid: 0,
    internal_name: "anyenum",
    array_name: "anyenum",
    sql_name: "anyenum",
    length: 4,
    by_value: true,
    category: 'E',
    preferred: false,
};

/// What all composite types have in common.
static COMPOSITE: Facts = Facts {
    scalar: Scalar::Composite(0),
    oid: 0,
    array_oid: 0,
    internal_name: "record",
    array_name: "_record",
    sql_name: "record",
    length: -1,
    by_value: false,
    category: 'C',
    preferred: false,
};

impl Scalar {
    pub(super) fn facts(self) -> &'static Facts {
        match (self.place(), self) {
            (Some(place), _) => &FACTS[place],
            (None, Scalar::Composite(_)) => &COMPOSITE,
            (None, _) => &ENUM,
        }
    }
}

impl Type {
    /// Every type that has a row in `pg_type`.
    pub fn all() -> impl Iterator<Item = Type> {
        FACTS.iter().flat_map(|facts| [Some(Type::of(facts.scalar)), Type::of(facts.scalar).to_array()]).flatten()
    }

    /// Its object identifier, PostgreSQL's.
    pub fn oid(self) -> u32 {
        match self.scalar {
            Scalar::Enum(oid) | Scalar::Composite(oid) if self.is_array => defined::array_of(oid),
            Scalar::Enum(oid) | Scalar::Composite(oid) => oid,
            scalar if self.is_array => scalar.facts().array_oid,
            scalar => scalar.facts().oid,
        }
    }

    /// The built-in type with this object identifier.
    pub fn from_oid(oid: u32) -> Option<Type> {
        Type::all().find(|known| known.oid() == oid)
    }

    /// The object identifier of its array type; 0 if it has none.
    pub fn array_oid(self) -> u32 {
        match self.scalar {
            _ if self.is_array => 0,
            Scalar::Enum(oid) | Scalar::Composite(oid) => defined::array_of(oid),
            scalar => scalar.facts().array_oid,
        }
    }

    /// The type of its elements: of an array, `int2vector` and `oidvector`.
    pub fn element(self) -> Option<Type> {
        match self {
            Type { is_array: true, scalar } => Some(Type::of(scalar)),
            Type { scalar: Scalar::Int2Vector, .. } => Some(Type::INT2),
            Type { scalar: Scalar::OidVector, .. } => Some(Type::OID),
            _ => None,
        }
    }

    /// The array of it, if there is one.
    pub fn to_array(self) -> Option<Type> {
        (self.array_oid() != 0).then_some(Type::array_of(self.scalar))
    }

    /// Its name as SQL writes it, without a modifier.
    pub fn name(self) -> String {
        self.format(Modifier::NONE)
    }

    /// Name of the type in SQL, with the modifier, as `format_type` prints it: `character varying(15)`, `integer[]`.
    pub fn format(self, modifier: Modifier) -> String {
        let brackets = if self.is_array { "[]" } else { "" };
        format!("{}{brackets}", format_scalar(self.scalar, modifier))
    }

    /// Its name in `pg_type`: `int4`, `_int4`.
    pub fn internal_name(self) -> SmolStr {
        match self.scalar {
            Scalar::Enum(oid) | Scalar::Composite(oid) => {
                let name = defined::find(oid).map(|found| found.name.clone()).unwrap_or_default();
                if self.is_array { smol_str::format_smolstr!("_{name}") } else { name }
            }
            scalar if self.is_array => SmolStr::new_static(scalar.facts().array_name),
            scalar => SmolStr::new_static(scalar.facts().internal_name),
        }
    }

    /// `typlen`: bytes, or -1 for variable ones.
    pub fn length(self) -> i16 {
        if self.is_array { -1 } else { self.scalar.facts().length }
    }

    /// `typbyval`
    pub fn is_by_value(self) -> bool {
        !self.is_array && self.scalar.facts().by_value
    }

    /// `typcategory`: N numbers, S texts, D times, T intervals, B booleans, A arrays, U others, Z internal ones,
    /// E enums, C composite types, P pseudo-types, X unknown.
    pub fn category(self) -> char {
        match self {
            Type { scalar: Scalar::Record, is_array: true } => 'P',
            Type { is_array: true, .. } => 'A',
            _ => self.scalar.facts().category,
        }
    }

    /// `typispreferred`: the one of its category that wins when nothing else decides.
    pub fn is_preferred(self) -> bool {
        !self.is_array && self.scalar.facts().preferred
    }

    /// `typtype`: b, e for an enum, c for a composite type, or p for a pseudo-type.
    pub fn kind(self) -> char {
        match self.scalar {
            Scalar::Record | Scalar::Void | Scalar::Unknown => 'p',
            Scalar::Enum(_) if !self.is_array => 'e',
            Scalar::Composite(_) if !self.is_array => 'c',
            _ => 'b',
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

fn format_scalar(scalar: Scalar, modifier: Modifier) -> String {
    let name = scalar.facts().sql_name;
    match scalar {
        Scalar::Enum(oid) | Scalar::Composite(oid) => defined::shown_name(oid),
        _ if modifier == Modifier::NONE => name.to_owned(),
        Scalar::Varchar | Scalar::Bpchar => {
            let name = if scalar == Scalar::Bpchar { "character" } else { name };
            modifier.length().map_or_else(|| name.to_owned(), |length| format!("{name}({length})"))
        }
        Scalar::Numeric => {
            modifier.precision_and_scale().map_or_else(|| name.to_owned(), |(p, s)| format!("{name}({p},{s})"))
        }
        Scalar::Time | Scalar::Timestamp | Scalar::Timestamptz => {
            let (kind, zone) = name.split_once(' ').unwrap_or((name, ""));
            format!("{kind}({}) {zone}", modifier.0)
        }
        Scalar::Interval => {
            let (fields, precision) = modifier.interval_fields();
            let fields = fields.map(|fields| format!(" {}", fields.name())).unwrap_or_default();
            let precision = precision.map(|precision| format!("({precision})")).unwrap_or_default();
            format!("{name}{fields}{precision}")
        }
        _ => name.to_owned(),
    }
}

/// Which fields of an interval are kept: `interval year to month`. PostgreSQL keeps them as a set of field numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalRange(i32);

const MONTH: i32 = 1 << 1;
const YEAR: i32 = 1 << 2;
const DAY: i32 = 1 << 3;
const HOUR: i32 = 1 << 10;
const MINUTE: i32 = 1 << 11;
const SECOND: i32 = 1 << 12;
const FULL_RANGE: i32 = 0x7fff;
const FULL_PRECISION: i32 = 0xffff;

impl IntervalRange {
    /// `YEAR`
    pub const YEAR: IntervalRange = IntervalRange(YEAR);
    /// `MONTH`
    pub const MONTH: IntervalRange = IntervalRange(MONTH);
    /// `DAY`
    pub const DAY: IntervalRange = IntervalRange(DAY);
    /// `HOUR`
    pub const HOUR: IntervalRange = IntervalRange(HOUR);
    /// `MINUTE`
    pub const MINUTE: IntervalRange = IntervalRange(MINUTE);
    /// `SECOND`
    pub const SECOND: IntervalRange = IntervalRange(SECOND);
    /// `YEAR TO MONTH`
    pub const YEAR_TO_MONTH: IntervalRange = IntervalRange(YEAR | MONTH);
    /// `DAY TO HOUR`
    pub const DAY_TO_HOUR: IntervalRange = IntervalRange(DAY | HOUR);
    /// `DAY TO MINUTE`
    pub const DAY_TO_MINUTE: IntervalRange = IntervalRange(DAY | HOUR | MINUTE);
    /// `DAY TO SECOND`
    pub const DAY_TO_SECOND: IntervalRange = IntervalRange(DAY | HOUR | MINUTE | SECOND);
    /// `HOUR TO MINUTE`
    pub const HOUR_TO_MINUTE: IntervalRange = IntervalRange(HOUR | MINUTE);
    /// `HOUR TO SECOND`
    pub const HOUR_TO_SECOND: IntervalRange = IntervalRange(HOUR | MINUTE | SECOND);
    /// `MINUTE TO SECOND`
    pub const MINUTE_TO_SECOND: IntervalRange = IntervalRange(MINUTE | SECOND);

    fn name(self) -> &'static str {
        match self {
            IntervalRange::YEAR => "year",
            IntervalRange::MONTH => "month",
            IntervalRange::DAY => "day",
            IntervalRange::HOUR => "hour",
            IntervalRange::MINUTE => "minute",
            IntervalRange::YEAR_TO_MONTH => "year to month",
            IntervalRange::DAY_TO_HOUR => "day to hour",
            IntervalRange::DAY_TO_MINUTE => "day to minute",
            IntervalRange::DAY_TO_SECOND => "day to second",
            IntervalRange::HOUR_TO_MINUTE => "hour to minute",
            IntervalRange::HOUR_TO_SECOND => "hour to second",
            IntervalRange::MINUTE_TO_SECOND => "minute to second",
            _ => "second",
        }
    }
}

impl Modifier {
    /// Modifier of `character(n)` and `character varying(n)`.
    pub fn of_length(length: u32) -> Modifier {
        i32::try_from(length).ok().and_then(|length| length.checked_add(4)).map_or(Modifier::NONE, Modifier)
    }

    /// Modifier of `numeric(p, s)`.
    pub fn of_numeric(precision: u16, scale: i16) -> Modifier {
        Modifier(((i32::from(precision) << 16) | (i32::from(scale) & 0x7ff)) + 4)
    }

    /// Modifier of `interval`: its fields, and the digits of its seconds.
    pub fn of_interval(fields: Option<IntervalRange>, precision: Option<u8>) -> Modifier {
        match (fields, precision) {
            (None, None) => Modifier::NONE,
            (fields, precision) => Modifier(
                fields.map_or(FULL_RANGE, |fields| fields.0) << 16 | precision.map_or(FULL_PRECISION, i32::from),
            ),
        }
    }

    /// The length of `character(n)` and `character varying(n)`.
    pub fn length(self) -> Option<usize> {
        usize::try_from(self.0.checked_sub(4)?).ok()
    }

    /// Precision and scale of `numeric(p, s)`.
    pub fn precision_and_scale(self) -> Option<(i32, i32)> {
        let packed = self.0.checked_sub(4).filter(|packed| *packed >= 0)?;
        Some((packed >> 16 & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024))
    }

    /// Digits after the point of a second, of the types of time.
    pub(super) fn second_digits(self, scalar: Scalar) -> Option<u8> {
        if scalar == Scalar::Interval {
            return self.interval_fields().1;
        }
        u8::try_from(self.0).ok().filter(|digits| *digits <= 6)
    }

    pub(super) fn interval_fields(self) -> (Option<IntervalRange>, Option<u8>) {
        if self.0 < 0 {
            return (None, None);
        }
        let range = self.0 >> 16 & FULL_RANGE;
        let precision = self.0 & FULL_PRECISION;
        ((range != FULL_RANGE).then_some(IntervalRange(range)), u8::try_from(precision).ok().filter(|p| *p <= 6))
    }
}

impl IntervalRange {
    /// Drops the fields that are finer than the range's last, as PostgreSQL does; coarser ones stay.
    pub(super) fn keep(self, interval: &mut super::Interval) {
        const MINUTE_MICROS: i64 = 60_000_000;
        let IntervalRange(range) = self;
        if range & (SECOND | MINUTE | HOUR | DAY) == 0 {
            if range == YEAR {
                interval.months = interval.months / 12 * 12;
            }
            (interval.days, interval.micros) = (0, 0);
        } else if range & (SECOND | MINUTE | HOUR) == 0 {
            interval.micros = 0;
        } else if range & (SECOND | MINUTE) == 0 {
            interval.micros -= interval.micros % (60 * MINUTE_MICROS);
        } else if range & SECOND == 0 {
            interval.micros -= interval.micros % MINUTE_MICROS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stand_in_the_order_of_the_scalars() {
        for (at, facts) in FACTS.iter().enumerate() {
            assert_eq!(facts.scalar.place(), Some(at), "{}", facts.internal_name);
        }
    }

    #[test]
    fn every_oid_leads_back_to_its_type() {
        for known in Type::all() {
            assert_eq!(Type::from_oid(known.oid()), Some(known));
        }
        assert_eq!(Type::from_oid(0), None);
        assert_eq!(Type::from_oid(1007), Some(Type::array_of(Scalar::Int4)));
    }

    #[test]
    fn names_are_those_of_format_type() {
        let cases = [
            (Type::VARCHAR, 19, "character varying(15)"),
            (Type::BPCHAR, -1, "bpchar"),
            (Type::BPCHAR, 5, "character(1)"),
            (Type::NUMERIC, (10 << 16 | 2) + 4, "numeric(10,2)"),
            (Type::NUMERIC, Modifier::of_numeric(3, -2).0, "numeric(3,-2)"),
            (Type::TIMESTAMPTZ, -1, "timestamp with time zone"),
            (Type::TIMESTAMP, 3, "timestamp(3) without time zone"),
            (Type::TIME, 0, "time(0) without time zone"),
            (Type::array_of(Scalar::Int4), -1, "integer[]"),
            (Type::array_of(Scalar::Varchar), 14, "character varying(10)[]"),
            (Type::CHAR, -1, "\"char\""),
            (Type::INTERVAL, Modifier::of_interval(None, Some(3)).0, "interval(3)"),
            (
                Type::INTERVAL,
                Modifier::of_interval(Some(IntervalRange::DAY_TO_SECOND), Some(2)).0,
                "interval day to second(2)",
            ),
            (Type::INTERVAL, Modifier::of_interval(Some(IntervalRange::YEAR), None).0, "interval year"),
        ];
        for (data_type, modifier, name) in cases {
            assert_eq!(data_type.format(Modifier(modifier)), name);
        }
    }
}
