//! The filter expressions that a delete of evaluations can carry (fsm.md 2.9): comparisons joined
//! by `and`, `or`, `not` and parentheses.

use super::super::row::Eval;

/// A parsed filter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filter {
    Or(Box<Filter>, Box<Filter>),
    And(Box<Filter>, Box<Filter>),
    Not(Box<Filter>),
    Compare { field: Field, operator: Operator, value: String },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operator {
    Equal,
    Contains,
    Empty,
}

/// The fields of an evaluation that a row keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field {
    Id,
    Namespace,
    JobId,
    Type,
    TriggeredBy,
    Status,
    Priority,
    NodeId,
    DeploymentId,
}

const FIELDS: &[(&str, Field)] = &[
    ("ID", Field::Id),
    ("Namespace", Field::Namespace),
    ("JobID", Field::JobId),
    ("Type", Field::Type),
    ("TriggeredBy", Field::TriggeredBy),
    ("Status", Field::Status),
    ("Priority", Field::Priority),
    ("NodeID", Field::NodeId),
    ("DeploymentID", Field::DeploymentId),
];

/// Parentheses deeper than this are refused.
const MAX_DEPTH: usize = 64;

impl Filter {
    /// Parses an expression.
    ///
    /// # Errors
    /// A sentence that says what is not understood.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        let mut parser = Parser { tokens: &tokens, text };
        let filter = parser.or(0)?;
        match parser.tokens.first() {
            None => Ok(filter),
            Some(token) => Err(parser.wrong(Some(token))),
        }
    }

    /// Whether an evaluation matches.
    pub(super) fn matches(&self, eval: &Eval) -> bool {
        match self {
            Filter::Or(a, b) => a.matches(eval) || b.matches(eval),
            Filter::And(a, b) => a.matches(eval) && b.matches(eval),
            Filter::Not(a) => !a.matches(eval),
            Filter::Compare { field, operator, value } => {
                let stored = field.of(eval);
                match operator {
                    Operator::Equal => stored == *value,
                    Operator::Contains => stored.contains(value.as_str()),
                    Operator::Empty => stored.is_empty(),
                }
            }
        }
    }
}

impl Field {
    fn of(self, eval: &Eval) -> String {
        match self {
            Field::Id => eval.id.to_string(),
            Field::Namespace => eval.job.namespace.to_string(),
            Field::JobId => eval.job.id.to_string(),
            Field::Type => eval.kind.to_string(),
            Field::TriggeredBy => eval.triggered_by.to_string(),
            Field::Status => eval.status.to_string(),
            Field::Priority => eval.priority.to_string(),
            Field::NodeId => eval.node_id.to_string(),
            Field::DeploymentId => eval.deployment_id.to_string(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Symbol(&'static str),
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let symbol = ["==", "!=", "(", ")"].into_iter().find(|s| rest.starts_with(s));
        let used = if let Some(symbol) = symbol {
            out.push(Token::Symbol(symbol));
            symbol.len()
        } else if matches!(first, '"' | '`') {
            let end = rest[1..].find(first).ok_or_else(|| format!("a text is not closed in the filter {text:?}"))?;
            out.push(Token::Text(rest[1..=end].to_owned()));
            end + 2
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "()=!\"`".contains(c)).unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("{first:?} is not understood in the filter {text:?}"));
            }
            out.push(Token::Word(rest[..end].to_owned()));
            end
        };
        rest = rest[used..].trim_start();
    }
    Ok(out)
}

struct Parser<'t> {
    tokens: &'t [Token],
    text: &'t str,
}

impl<'t> Parser<'t> {
    fn wrong(&self, token: Option<&Token>) -> String {
        match token {
            Some(Token::Word(w) | Token::Text(w)) => format!("{w:?} is not understood in the filter {:?}", self.text),
            Some(Token::Symbol(s)) => format!("{s:?} is not understood in the filter {:?}", self.text),
            None => format!("the filter {:?} ends early", self.text),
        }
    }

    fn next(&mut self) -> Option<&'t Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Word(w)) if w == word);
        if found {
            self.next();
        }
        found
    }

    fn or(&mut self, depth: usize) -> Result<Filter, String> {
        let mut left = self.and(depth)?;
        while self.take_word("or") {
            left = Filter::Or(Box::new(left), Box::new(self.and(depth)?));
        }
        Ok(left)
    }

    fn and(&mut self, depth: usize) -> Result<Filter, String> {
        let mut left = self.unary(depth)?;
        while self.take_word("and") {
            left = Filter::And(Box::new(left), Box::new(self.unary(depth)?));
        }
        Ok(left)
    }

    fn unary(&mut self, depth: usize) -> Result<Filter, String> {
        if depth > MAX_DEPTH {
            return Err(format!("the filter nests deeper than {MAX_DEPTH}"));
        }
        if self.take_word("not") {
            return Ok(Filter::Not(Box::new(self.unary(depth + 1)?)));
        }
        if self.tokens.first() == Some(&Token::Symbol("(")) {
            self.next();
            let inner = self.or(depth + 1)?;
            return match self.next() {
                Some(Token::Symbol(")")) => Ok(inner),
                other => Err(self.wrong(other)),
            };
        }
        self.comparison()
    }

    fn field(&self, token: Option<&Token>) -> Result<Field, String> {
        match token {
            Some(Token::Word(w)) => {
                FIELDS.iter().find(|(name, _)| name == w).map(|(_, field)| *field).ok_or_else(|| self.wrong(token))
            }
            _ => Err(self.wrong(token)),
        }
    }

    fn value(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Word(w) | Token::Text(w)) => Ok(w.clone()),
            other => Err(self.wrong(other)),
        }
    }

    /// `Field == value`, `!=`, `contains`, `not contains`, `is empty`, `is not empty`,
    /// `value in Field`, `value not in Field`.
    fn comparison(&mut self) -> Result<Filter, String> {
        let first = self.next();
        let turned = matches!(self.tokens.first(), Some(Token::Word(w)) if w == "in")
            || matches!(self.tokens, [Token::Word(not), Token::Word(word), ..] if not == "not" && word == "in");
        if turned {
            let negated = self.take_word("not");
            self.take_word("in");
            let value = match first {
                Some(Token::Word(w) | Token::Text(w)) => w.clone(),
                other => return Err(self.wrong(other)),
            };
            let token = self.next();
            let field = self.field(token)?;
            return Ok(negate(negated, Filter::Compare { field, operator: Operator::Contains, value }));
        }
        let field = self.field(first)?;
        let (negated, operator) = match self.next() {
            Some(Token::Symbol("==")) => (false, Operator::Equal),
            Some(Token::Symbol("!=")) => (true, Operator::Equal),
            Some(Token::Word(w)) if w == "contains" => (false, Operator::Contains),
            Some(Token::Word(w)) if w == "not" && self.take_word("contains") => (true, Operator::Contains),
            Some(Token::Word(w)) if w == "is" => {
                let negated = self.take_word("not");
                if !self.take_word("empty") {
                    return Err(self.wrong(self.tokens.first()));
                }
                let value = String::new();
                return Ok(negate(negated, Filter::Compare { field, operator: Operator::Empty, value }));
            }
            other => return Err(self.wrong(other)),
        };
        let value = self.value()?;
        Ok(negate(negated, Filter::Compare { field, operator, value }))
    }
}

fn negate(negated: bool, filter: Filter) -> Filter {
    if negated { Filter::Not(Box::new(filter)) } else { filter }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn and_binds_closer_than_or() {
        let filter = Filter::parse(r#"Status == "a" or Status == "b" and JobID contains "c""#).unwrap();
        assert!(matches!(filter, Filter::Or(_, right) if matches!(*right, Filter::And(..))));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (text, word) in [
            ("Colour == red", "Colour"),
            ("Status ~ x", "~"),
            ("Status ==", "ends early"),
            ("(Status == a", "ends early"),
        ] {
            let error = Filter::parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
