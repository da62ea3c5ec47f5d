// SPDX-License-Identifier: MIT OR Apache-2.0
//! Old and new results side by side.

use std::fmt::{self, Write};

use super::table::{self, Notes, names, speed};
use super::{Results, Row};

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// As fast, within the threshold.
    Same,
    /// Faster, beyond it.
    Faster,
    /// Slower, beyond it.
    Slower,
    /// The new result is wrong, or its engine gave up.
    Failed,
    /// It had a speed, and is no longer supported.
    Lost,
    /// It has a speed, and had none.
    Gained,
    /// No speed before nor now.
    Neither,
    /// Only the old results have it.
    OnlyOld,
    /// Only the new results have it.
    OnlyNew,
}

impl Change {
    /// Whether it is to be complained about.
    #[must_use]
    pub fn is_worse(self) -> bool {
        matches!(self, Self::Slower | Self::Failed | Self::Lost)
    }

    fn of(old: &Row, new: &Row, percent: f64) -> Self {
        match (old.speed(), new.speed()) {
            _ if new.failed() => Self::Failed,
            (Some(old), Some(new)) if new < old * (1.0 - percent / 100.0) => Self::Slower,
            (Some(old), Some(new)) if new > old * (1.0 + percent / 100.0) => Self::Faster,
            (Some(_), Some(_)) => Self::Same,
            (Some(_), None) => Self::Lost,
            (None, Some(_)) => Self::Gained,
            (None, None) => Self::Neither,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "",
            Self::Faster => "faster",
            Self::Slower => "SLOWER",
            Self::Failed => "FAILED",
            Self::Lost => "LOST",
            Self::Gained => "gained",
            Self::Neither => "-",
            Self::OnlyOld => "not measured now",
            Self::OnlyNew => "not measured before",
        })
    }
}

/// A case of either results.
#[derive(Clone, Copy, Debug)]
pub struct CasePair<'a> {
    old: Option<&'a Row>,
    new: Option<&'a Row>,
    /// What became of it.
    pub change: Change,
}

/// Every case of either results, the old ones first.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The cases.
    pub pairs: Vec<CasePair<'a>>,
    /// Changes of speed up to so many per cent are none.
    percent: f64,
    devices: [Vec<&'a str>; 2],
}

/// Pairs the rows of equal cases, but for those that repeat another row's in both results. Changes of speed up to so many per cent are none.
#[must_use]
pub fn compare<'a>(old: &'a Results, new: &'a Results, percent: f64) -> Comparison<'a> {
    let find =
        |results: &'a Results, row: &Row| results.rows.iter().find(|other| other.case == row.case);
    let mut pairs: Vec<CasePair> = Vec::new();
    for row in &old.rows {
        let partner = find(new, row);
        if old.repeats(row) && partner.is_some_and(|partner| new.repeats(partner)) {
            continue;
        }
        let change = partner.map_or(Change::OnlyOld, |partner| Change::of(row, partner, percent));
        pairs.push(CasePair { old: Some(row), new: partner, change });
    }
    for row in new.rows.iter().filter(|row| find(old, row).is_none()) {
        let change = if row.failed() { Change::Failed } else { Change::OnlyNew };
        pairs.push(CasePair { old: None, new: Some(row), change });
    }
    Comparison { pairs, percent, devices: [old.devices(), new.devices()] }
}

impl Comparison<'_> {
    /// Cases that both results have.
    #[must_use]
    pub fn in_common(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.old.is_some() && pair.new.is_some()).count()
    }

    /// Cases to be complained about.
    #[must_use]
    pub fn worse(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.change.is_worse()).count()
    }

    fn count(&self, change: Change) -> usize {
        self.pairs.iter().filter(|pair| pair.change == change).count()
    }

    /// Devices where they differ, a line for each case, the reasons that they refer to, and how many
    /// changed.
    #[must_use]
    pub fn render(&self) -> String {
        let mut table = table::with_header(
            &["stencil", "paper", "grid", "type", "mode"],
            &["old GStencil/s", "new GStencil/s", "new/old", "L2 error", "change"],
        );
        let mut notes = Notes::default();
        for pair in &self.pairs {
            table.add_row(pair.cells(&mut notes));
        }
        let mut text = String::new();
        let [old, new] = &self.devices;
        if old != new {
            for (which, devices) in [("old", old), ("new", new)] {
                writeln!(text, "{which}: {}", devices.join("; ")).expect("a string takes any text");
            }
        }
        text + &table::lines(&table) + &notes.render() + &self.summary()
    }

    fn summary(&self) -> String {
        let percent = self.percent;
        let mut text = format!("{} compared", self.in_common());
        let mut add = |change, what: &str| match self.count(change) {
            0 => {}
            count => write!(text, ", {count} {what}").expect("a string takes any text"),
        };
        add(Change::Slower, &format!("slower by more than {percent}%"));
        add(Change::Failed, "failed");
        add(Change::Lost, "no longer supported");
        add(Change::Faster, &format!("faster by more than {percent}%"));
        add(Change::Gained, "supported now");
        add(Change::OnlyOld, "not measured now");
        add(Change::OnlyNew, "not measured before");
        text + "\n"
    }
}

impl CasePair<'_> {
    fn cells(&self, notes: &mut Notes) -> Vec<String> {
        let dash = || "-".to_owned();
        let (old, new) = (self.old.and_then(Row::speed), self.new.and_then(Row::speed));
        let ratio = old.zip(new).map(|(old, new)| format!("{:.3}", new / old));
        let error =
            self.new.and_then(Row::measurement).map(|new| format!("{:.2e}", new.rel_l2_err));
        // Why there is no speed now is the question.
        let reason = self.new.filter(|_| new.is_none()).and_then(Row::reason);
        let note = reason.map_or_else(String::new, |reason| format!(" {}", notes.refer(reason)));
        let mut cells = self.new.or(self.old).map(names).unwrap_or_default();
        let engine = self.new.or(self.old).and_then(|row| row.case.engine);
        if let Some((mode, engine)) = cells.last_mut().zip(engine) {
            *mode += &format!(" on {engine}");
        }
        cells.extend([
            old.map_or_else(dash, speed),
            new.map_or_else(dash, speed),
            ratio.unwrap_or_else(dash),
            error.unwrap_or_else(dash),
            format!("{}{note}", self.change),
        ]);
        cells
    }
}
