//! `sqlparser`'s PostgreSQL dialect, with a bound on its work.
//!
//! If a word begins an expression of its own kind (`CAST (...)`, `EXTRACT (...)`) and the rest is wrong, the parser tries again
//! with the word as a name, which reads the rest once more. Nested, that doubles the work with every level: an error inside
//! fifty levels would never be found.

use sqlparser::ast::Expr;
use sqlparser::dialect::{Dialect as Rules, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::any::TypeId;
use std::cell::Cell;

/// Expressions that may begin, right or wrong ones, by token; a right statement begins fewer than there are tokens.
const TRIES_PER_TOKEN: usize = 8;
/// For short statements.
const LEAST_TRIES: usize = 1_000;

/// The rules by which one statement is parsed.
#[derive(Debug)]
pub(super) struct Dialect {
    rules: PostgreSqlDialect,
    tries_left: Cell<usize>,
}

impl Dialect {
    /// For a statement of these tokens.
    pub(super) fn new(tokens: &[TokenWithSpan]) -> Dialect {
        let tries = tokens.len().saturating_mul(TRIES_PER_TOKEN).max(LEAST_TRIES);
        Dialect { rules: PostgreSqlDialect {}, tries_left: Cell::new(tries) }
    }
}

/// Delegates to PostgreSQL's dialect the methods that it overrides; the others keep their defaults.
macro_rules! as_postgresql {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $kind),*) -> $result {
            self.rules.$name($($argument),*)
        })*
    };
}

impl Rules for Dialect {
    fn dialect(&self) -> TypeId {
        self.rules.dialect()
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let left = self.tries_left.get();
        self.tries_left.set(left.saturating_sub(1));
        let is_interval =
            |at| matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word) if word.keyword == Keyword::INTERVAL);
        // Each INTERVAL reads what follows one level deeper, and the parser does not count these levels.
        let is_endless = (0..3).all(is_interval);
        (left == 0 || is_endless).then_some(Err(ParserError::RecursionLimitExceeded))
    }

    /// IS DISTINCT FROM takes what binds more tightly for its right operand. The parser would take everything that follows, AND
    /// and OR too. COLLATE it knows after a name or a literal only, not after a cast.
    fn parse_infix(&self, parser: &mut Parser, left: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        const DISTINCT: [Keyword; 3] = [Keyword::IS, Keyword::DISTINCT, Keyword::FROM];
        const NOT_DISTINCT: [Keyword; 4] = [Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM];
        if parser.parse_keyword(Keyword::COLLATE) {
            let collation = parser.parse_object_name(false);
            return Some(collation.map(|collation| Expr::Collate { expr: Box::new(left.clone()), collation }));
        }
        let negated = parser.parse_keywords(&NOT_DISTINCT);
        if !negated && !parser.parse_keywords(&DISTINCT) {
            return None;
        }
        let right = parser.parse_subexpr(self.prec_value(Precedence::Is));
        let made = if negated { Expr::IsNotDistinctFrom } else { Expr::IsDistinctFrom };
        Some(right.map(|right| made(Box::new(left.clone()), Box::new(right))))
    }

    /// Words that are never names need no second try, and the error inside is the one that counts.
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        matches!(keyword, Keyword::ARRAY | Keyword::CASE | Keyword::CAST | Keyword::NOT)
            || self.rules.is_reserved_for_identifier(keyword)
    }

    /// The name of an argument is a name. As an expression each argument would be read twice, and nested calls twice at each level.
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    /// ON is reserved: in `INSERT ... SELECT 1 ON CONFLICT` it begins a clause.
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        *keyword != Keyword::ON && self.rules.is_column_alias(keyword, parser)
    }

    as_postgresql! {
        identifier_quote_style(identifier: &str) -> Option<char>;
        is_delimited_identifier_start(ch: char) -> bool;
        is_identifier_start(ch: char) -> bool;
        is_identifier_part(ch: char) -> bool;
        supports_unicode_string_literal() -> bool;
        is_custom_operator_part(ch: char) -> bool;
        get_next_precedence(parser: &Parser) -> Option<Result<u8, ParserError>>;
        supports_filter_during_aggregation() -> bool;
        supports_group_by_expr() -> bool;
        prec_value(precedence: Precedence) -> u8;
        allow_extract_custom() -> bool;
        allow_extract_single_quotes() -> bool;
        supports_create_index_with_clause() -> bool;
        supports_explain_with_utility_options() -> bool;
        supports_listen_notify() -> bool;
        supports_factorial_operator() -> bool;
        supports_bitwise_shift_operators() -> bool;
        supports_comment_on() -> bool;
        supports_load_extension() -> bool;
        supports_named_fn_args_with_colon_operator() -> bool;
        supports_empty_projections() -> bool;
        supports_nested_comments() -> bool;
        supports_string_escape_constant() -> bool;
        supports_numeric_literal_underscores() -> bool;
        supports_array_typedef_with_brackets() -> bool;
        supports_geometric_types() -> bool;
        supports_set_names() -> bool;
        supports_alter_column_type_using() -> bool;
        supports_notnull_operator() -> bool;
        supports_interval_options() -> bool;
        supports_insert_table_alias() -> bool;
        supports_create_table_like_parenthesized() -> bool;
        supports_select_wildcard_with_alias() -> bool;
        supports_comma_separated_trim() -> bool;
        supports_xml_expressions() -> bool;
        supports_comment_optimizer_hint() -> bool;
    }
}
