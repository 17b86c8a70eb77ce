//! Expressions over batches whose columns stand at other places.

use super::{Expression, Kind};

impl Expression {
    /// The expression over batches in which each column stands at another place. Places have the order of the columns.
    pub fn moved(&self, place: &dyn Fn(usize) -> usize) -> Expression {
        let columns = self.columns.iter().map(|column| place(*column)).collect();
        Expression { kind: self.kind.moved(place), columns, ..*self }
    }
}

impl Kind {
    fn moved(&self, place: &dyn Fn(usize) -> usize) -> Kind {
        let one = |of: &Expression| Box::new(of.moved(place));
        let all = |of: &[Expression]| of.iter().map(|part| part.moved(place)).collect();
        match self {
            Kind::Constant(value) => Kind::Constant(value.clone()),
            Kind::Column(at) => Kind::Column(place(*at)),
            Kind::Compare(comparison, left, right) => Kind::Compare(*comparison, one(left), one(right)),
            Kind::Connect(operands, decisive) => Kind::Connect(all(operands), *decisive),
            Kind::Not(operand) => Kind::Not(one(operand)),
            Kind::IsNull(operand) => Kind::IsNull(one(operand)),
            Kind::IsTruth(operand, wanted) => Kind::IsTruth(one(operand), *wanted),
            Kind::IsSame(left, right) => Kind::IsSame(one(left), one(right)),
            Kind::Case(branches, otherwise) => {
                let branch =
                    |(condition, result): &(Expression, Expression)| (condition.moved(place), result.moved(place));
                Kind::Case(branches.iter().map(branch).collect(), one(otherwise))
            }
            Kind::Coalesce(operands) => Kind::Coalesce(all(operands)),
            Kind::InList(operand, list) => Kind::InList(one(operand), list.clone()),
            Kind::Arithmetic(operation, left, right, lane) => {
                Kind::Arithmetic(*operation, one(left), one(right), lane.clone())
            }
            Kind::Retyped(operand) => Kind::Retyped(one(operand)),
            Kind::Call(function, is_strict, arguments) => Kind::Call(function.clone(), *is_strict, all(arguments)),
        }
    }
}
