// SPDX-License-Identifier: MIT OR Apache-2.0
//! The steps of a sum, with a look at the spans that are compared on the way.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::FIELD;
use super::last_steps::ComparedRegions;
use super::overflow::OverflowWatch;
use super::stepping::{BatchSize, Stepping, take_steps};
use super::verifying::found;
use crate::engine::{Input, State, SumSession};
use problem::check::reference;
use problem::check::sample::Span;
use problem::check::verify::{Comparison, RunningComparison};
use problem::control::Control;
use problem::observe::{
    ArrayName, ComputedBy, NoObserver, Observer, PartFile, PendingCopy, Snapshot, copied,
};
use problem::{Error, Grid, Job, Jumped, Region, Shape, Values, View};

/// How far a grid has come.
pub struct StepsTaken {
    watch: OverflowWatch,
    /// Steps that are done.
    done: usize,
    /// The device's time for them.
    time: Duration,
    pace: BatchSize,
}

impl StepsTaken {
    /// From a finite grid after so many steps on.
    pub fn from(done: usize) -> Self {
        Self {
            watch: OverflowWatch::from(done),
            done,
            time: Duration::ZERO,
            pace: BatchSize::default(),
        }
    }

    /// Its grid was changed between two steps, and is finite.
    pub fn changed(&mut self) {
        self.watch = OverflowWatch::from(self.done);
    }

    /// Steps that are done.
    pub fn steps(&self) -> usize {
        self.done
    }

    /// Makes sure that the grid as it is now is finite.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn check(&mut self, grid: &Grid) -> Result<(), Error> {
        self.watch.check(grid, self.done)
    }

    /// The device's time for them.
    pub fn time(&self) -> Duration {
        self.time
    }
}

/// Steps of a sum that are being taken.
pub struct Computing<'a> {
    job: &'a Job,
    session: &'a mut dyn SumSession,
    input: Input,
    control: &'a Control,
    at: &'a mut StepsTaken,
    /// The step after the last one.
    to: usize,
    /// The engine.
    engine: &'static str,
    /// The name of the field.
    field: &'a str,
    /// What is compared on the way.
    spans: VecDeque<Span>,
    /// The span that has begun, with what its regions depend on.
    open: Option<OpenSpan>,
    /// What is compared before an observer has seen enough.
    tail: Option<ComparedRegions>,
    comparisons: Vec<Comparison>,
    /// Whether all values are looked at after the last step.
    looks_after: bool,
}

/// A span that has begun.
struct OpenSpan {
    span: Span,
    /// The values that its regions depend on, as they were at its beginning.
    before: Vec<Vec<f64>>,
    /// Jumps until its beginning.
    jumps: usize,
}

impl<'a> Computing<'a> {
    /// So many steps, from where it is on.
    pub fn new(
        job: &'a Job,
        session: &'a mut dyn SumSession,
        input: Input,
        control: &'a Control,
        at: &'a mut StepsTaken,
        steps: usize,
    ) -> Self {
        let to = at.done + steps;
        let (engine, field, comparisons) = ("", FIELD, Vec::new());
        let (spans, open, tail, looks_after) = (VecDeque::new(), None, None, false);
        Self {
            job,
            session,
            input,
            control,
            at,
            to,
            engine,
            field,
            spans,
            open,
            tail,
            comparisons,
            looks_after,
        }
    }

    /// With the names of the engine and of the field.
    pub fn named(self, engine: &'static str, field: &'a str) -> Self {
        Self { engine, field, ..self }
    }

    /// With a comparison of the last steps before somebody has seen enough.
    pub fn with_tail(self, tail: Option<ComparedRegions>) -> Self {
        Self { tail, ..self }
    }

    /// Takes all steps, and looks now and then whether values are finite.
    ///
    /// # Errors
    /// A value was seen that is not, somebody asked for an end, or the device refuses.
    pub fn take_all(mut self) -> Result<(), Error> {
        self.until_end(&mut NoObserver)
    }

    /// Takes all steps while somebody looks, and compares the spans, which are in order.
    ///
    /// # Errors
    /// A value is not finite, somebody asked for an end, or the device refuses.
    pub fn all(
        mut self,
        spans: &[Span],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Comparison>, Error> {
        let from = self.at.done;
        self.spans = spans.iter().filter(|span| span.from_step >= from).cloned().collect();
        self.looks_after = true;
        self.until_end(observer)?;
        Ok(self.comparisons)
    }

    fn until_end(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        let (mut pace, last, control) = (self.at.pace, self.to, self.control);
        let outcome = take_steps(self, last, &mut pace, observer, control);
        self.at.pace = pace;
        outcome
    }

    /// As it stands.
    fn still(&mut self) -> RunSnapshot<'_> {
        let Self { session, input, control, at, engine, field, .. } = self;
        RunSnapshot { session: &mut **session, input: *input, control, at, engine, field }
    }

    /// Compares the span that ends here.
    fn close(&mut self) -> Result<(), Error> {
        let done = self.at.done;
        let Some(OpenSpan { span, before, jumps }) =
            self.open.take_if(|it| it.span.to_step == done)
        else {
            return Ok(());
        };
        let comparison = self.compared(&span, before, jumps)?;
        self.comparisons.push(comparison);
        Ok(())
    }

    /// Begins the span that begins here. Returns the step where the present or the next one ends or begins.
    fn open(&mut self) -> Result<Option<usize>, Error> {
        let done = self.at.done;
        if self.open.is_none()
            && let Some(span) = self.spans.pop_front_if(|span| span.from_step == done)
        {
            let before = self.before(&span.regions, span.to_step - span.from_step)?;
            let jumps = self.session.jumped().unwrap_or_default().count;
            self.open = Some(OpenSpan { span, before, jumps });
        }
        let end = self.open.as_ref().map(|open| open.span.to_step);
        Ok(end.or_else(|| self.spans.front().map(|span| span.from_step)))
    }

    /// What regions depend on so many steps later, as it is now.
    fn before(&mut self, regions: &[Region], steps: usize) -> Result<Vec<Vec<f64>>, Error> {
        let job = self.job;
        let read = |region: &Region| {
            let from = reference::before(*region, steps, job);
            reference::gather(job.shape, from, |piece| self.session.read(0, State::Now, piece))
        };
        regions.iter().map(read).collect()
    }

    /// Compares the regions of a span, which ends here, with what the reference makes of the values before it.
    fn compared(
        &mut self,
        span: &Span,
        before: Vec<Vec<f64>>,
        jumps_before: usize,
    ) -> Result<Comparison, Error> {
        let (job, arithmetic) = (self.job, self.session.arithmetic());
        // The error of all jumps so far is more than that of these.
        let jumped =
            self.session.jumped().map(|all| Jumped { count: all.count - jumps_before, ..all });
        let comparing = RunningComparison::new(job, arithmetic, span.from_step, span.to_step);
        let mut comparing = comparing.by(jumped);
        for (region, before) in span.regions.iter().zip(before) {
            let after = self.session.read(0, State::Now, *region)?;
            comparing.region(*region, before, &after, || self.control.stop.check())?;
        }
        found(comparing, &mut *self.session)
    }

    /// Holds what the last steps before a possible end are compared with, where they begin now; the step where they
    /// begin otherwise, if that is to come.
    fn hold(&mut self, may_end: Option<usize>) -> Result<Option<usize>, Error> {
        let Some(mut tail) = self.tail.take() else { return Ok(None) };
        let (done, end) = (self.at.done, may_end.unwrap_or(self.to));
        let start = tail.start(done, end);
        if start == Some(done) {
            let before = self.before(&tail.regions, end - done)?;
            tail.held = Some((done, end, before));
        }
        self.tail = Some(tail);
        Ok(start.filter(|start| *start > done))
    }

    /// Compares the last steps, if they are held.
    fn compare_tail(&mut self) -> Result<Option<Comparison>, Error> {
        let Some(ComparedRegions { regions, held: Some((from_step, to_step, before)), .. }) =
            self.tail.take()
        else {
            return Ok(None);
        };
        if to_step != self.at.done {
            return Ok(None);
        }
        // No jumps have a tail.
        self.compared(&Span { from_step, to_step, regions }, before, 0).map(Some)
    }

    fn fail_if(&mut self, seen: Option<(usize, f64)>) -> Result<(), Error> {
        self.still().fail_if(seen)
    }
}

impl Stepping for Computing<'_> {
    fn done(&self) -> usize {
        self.at.done
    }

    fn launch(&self) -> usize {
        self.session.launch()
    }

    fn snapshot(&mut self) -> Box<dyn Snapshot + '_> {
        Box::new(self.still())
    }

    fn take(&mut self, steps: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        let Self { session, at, .. } = &mut *self;
        let time = session.advance(steps)?;
        let took = start.elapsed();
        at.time += time;
        at.done += steps;
        let seen = at.watch.passed(&mut **session, at.done, time)?;
        self.fail_if(seen)?;
        Ok(took)
    }

    fn compare(&mut self, _: usize, may_end: Option<usize>) -> Result<Option<usize>, Error> {
        self.close()?;
        let of_span = self.open()?;
        let of_tail = self.hold(may_end)?;
        Ok(of_span.into_iter().chain(of_tail).min())
    }

    fn finish(&mut self) -> Result<(), Error> {
        if !self.looks_after {
            return Ok(());
        }
        self.close()?;
        let seen = self.at.watch.look(self.session, self.at.done)?;
        self.fail_if(seen)?;
        let of_tail = self.compare_tail()?;
        self.comparisons.extend(of_tail);
        Ok(())
    }
}

/// A grid between two steps.
struct RunSnapshot<'a> {
    session: &'a mut dyn SumSession,
    input: Input,
    control: &'a Control,
    at: &'a mut StepsTaken,
    engine: &'static str,
    field: &'a str,
}

impl RunSnapshot<'_> {
    fn fail_if(&mut self, seen: Option<(usize, f64)>) -> Result<(), Error> {
        let Some(seen) = seen else { return Ok(()) };
        let Self { session, input, control, at, .. } = self;
        Err(at.watch.trace(&mut **session, *input, at.done, seen, control, at.time)?)
    }
}

impl Snapshot for RunSnapshot<'_> {
    fn shape(&self) -> Shape {
        self.session.shape()
    }

    fn arrays(&self) -> Vec<ArrayName> {
        vec![ArrayName { field: self.field.to_owned(), level: 0 }]
    }

    fn by(&self) -> ComputedBy {
        let Self { session, engine, .. } = self;
        let how = match (*engine, session.jump()) {
            // Each step is rounded by itself.
            ("cpu", _) => String::new(),
            (_, Some(jump)) => format!("{} steps at once", jump.steps),
            _ => {
                let kernel = session.kernel().unwrap_or_default();
                format!("{kernel}, fuse {}, chain {}", session.arithmetic().fuse, session.chain())
            }
        };
        ComputedBy { engine: (*engine).to_owned(), how }
    }

    fn read(&mut self, array: usize, region: Region) -> Result<Values, Error> {
        self.session.read(array, State::Now, region)
    }

    fn capture(&mut self, array: usize, view: &View) -> Result<Box<dyn PendingCopy>, Error> {
        match self.session.capture(array, view)? {
            Some(coming) => Ok(coming),
            None => copied(self, array, view),
        }
    }

    fn parts(&self) -> Option<Vec<Region>> {
        self.session.parts()
    }

    fn write_parts(&mut self, files: &[PartFile]) -> Result<Vec<String>, Error> {
        self.session.write_parts(files)
    }

    fn check_finite(&mut self) -> Result<(), Error> {
        let seen = self.at.watch.look(self.session, self.at.done)?;
        self.fail_if(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Counting;
    use super::*;
    use crate::engine::{Engine, Session, cpu::Cpu};
    use problem::check::sample::{self, patches};
    use problem::check::seams::Seams;
    use problem::observe::next_multiple;
    use problem::{Arithmetic, Boundary, Dtype};
    use std::ops::ControlFlow;
    use transform::catalogue;

    fn advance(steps: usize, bad_from: Option<usize>) -> (Result<(), Error>, Vec<usize>, Duration) {
        let stencil = catalogue::find("star1d1r").unwrap();
        let job = Job::new(stencil, "2".parse().unwrap(), Dtype::F16, steps);
        let (mut session, control) = (Counting::new(bad_from), Control::default());
        let mut at = StepsTaken::from(0);
        let computing = Computing::new(&job, &mut session, Input::Kept, &control, &mut at, steps);
        let outcome = computing.all(&[], &mut NoObserver).map(|_| ());
        (outcome, session.asked, at.time())
    }

    #[test]
    fn batches_are_of_whole_launches() {
        for (steps, batches) in [(0, vec![]), (5, vec![5]), (12, vec![12]), (40, vec![12, 24, 4])] {
            let (outcome, asked, time) = advance(steps, None);
            outcome.unwrap();
            assert_eq!((asked, time), (batches, Duration::from_millis(steps as u64)));
        }
    }

    #[test]
    fn what_is_not_finite_ends_the_run_before_all_steps_are_done() {
        let (outcome, asked, _) = advance(1_000_000, Some(700));
        let text = "after step 700 the grid holds inf at (x) = (1); after step 699 all values were \
                    finite";
        assert_eq!(outcome.unwrap_err().to_string(), text);
        assert!(asked.iter().all(|&steps| steps < 100_000), "{asked:?}");
    }

    /// An engine that gets one point wrong in every step from some step on.
    struct Wrong {
        inner: Box<dyn SumSession>,
        done: usize,
        from: usize,
    }

    impl Session for Wrong {
        fn device(&self) -> String {
            self.inner.device()
        }

        fn shape(&self) -> Shape {
            self.inner.shape()
        }

        fn dtype(&self) -> Dtype {
            self.inner.dtype()
        }

        fn launch(&self) -> usize {
            self.inner.launch()
        }

        fn load(&mut self, input: &Grid) -> Result<(), Error> {
            self.inner.load(input)
        }

        fn restart(&mut self) -> Result<(), Error> {
            self.inner.restart()
        }

        fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
            for _ in 0..steps {
                self.inner.advance(1)?;
                self.done += 1;
                if self.done >= self.from {
                    let mut grid = self.inner.store()?;
                    let Values::F32(values) = &mut grid.values else { unreachable!("f32") };
                    values[17] += 1e-5;
                    self.inner.load(&grid)?;
                }
            }
            Ok(Duration::ZERO)
        }

        fn read(&mut self, _: usize, state: State, region: Region) -> Result<Values, Error> {
            self.inner.read(0, state, region)
        }

        fn copy(&mut self, count: usize) -> Result<Duration, Error> {
            self.inner.copy(count)
        }
    }

    impl SumSession for Wrong {
        fn arithmetic(&self) -> Arithmetic {
            self.inner.arithmetic()
        }
    }

    /// Formerly the check of a long run ended with its first steps.
    #[test]
    fn a_step_that_goes_wrong_late_is_found() {
        let stencil = catalogue::find("star2d1r").unwrap();
        let mut job = Job::new(stencil, "20x30".parse().unwrap(), Dtype::F32, 100);
        job.boundary = Boundary::parse("x:periodic,y:reflect", 2).unwrap();
        let input = Grid::random(job.shape, Dtype::F32, 4).unwrap();
        let regions = patches(job.shape, &Seams::none(), 16);
        let span = |from_step| Span { from_step, to_step: from_step + 8, regions: regions.clone() };
        let spans = [0, 40, 92].map(span);
        for (from, holds) in [
            (101, [true, true, true]),
            (100, [true, true, false]),
            (45, [true, false, false]),
            (1, [false, false, false]),
        ] {
            let mut inner = Cpu.prepare(&job).unwrap();
            inner.load(&input).unwrap();
            let (mut session, control) = (Wrong { inner, done: 0, from }, Control::default());
            let mut at = StepsTaken::from(0);
            let computing =
                Computing::new(&job, &mut session, Input::Kept, &control, &mut at, job.steps);
            let found = computing.all(&spans, &mut NoObserver).unwrap();
            let found: Vec<bool> = found.iter().map(Comparison::holds).collect();
            assert_eq!(found, holds, "wrong from step {from} on");
        }
    }

    /// Has seen enough after some step, looking every so many.
    struct EndCheck {
        every: usize,
        at: usize,
    }

    impl Observer for EndCheck {
        fn next(&self, done: usize) -> Option<usize> {
            next_multiple(done, self.every)
        }

        fn may_end(&self, done: usize) -> Option<usize> {
            self.next(done)
        }

        fn look(&mut self, done: usize, _: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
            Ok(if done >= self.at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        }
    }

    /// Then: of a run that ends where values do not change any more its first steps were compared, and no other ones.
    #[test]
    fn a_run_that_may_end_at_any_look_is_compared_up_to_its_last_step() {
        let stencil = catalogue::find("star2d1r").unwrap();
        let job = Job::new(stencil, "20x30".parse().unwrap(), Dtype::F32, 1_000_000);
        let input = Grid::random(job.shape, Dtype::F32, 4).unwrap();
        let facts = sample::Facts {
            launch: 1,
            jumps: false,
            seams: Seams::none(),
            keeps_input: true,
            always_spans: false,
            open_ended: true,
            most_bytes: 1 << 30,
        };
        let spans = sample::plan(&job, false, &facts).spans;
        for (every, at) in [(20, 100), (20, 300), (50, 50), (3, 99), (1, 7)] {
            let middles = [1, 10, at / 2, at - 1, at, at + 1];
            for from in middles {
                let mut inner = Cpu.prepare(&job).unwrap();
                inner.load(&input).unwrap();
                let (mut session, control) = (Wrong { inner, done: 0, from }, Control::default());
                let mut at_now = StepsTaken::from(0);
                let computing = Computing::new(
                    &job,
                    &mut session,
                    Input::Kept,
                    &control,
                    &mut at_now,
                    job.steps,
                );
                let mut ends = EndCheck { every, at };
                let tail = ComparedRegions::new(8, spans[0].regions.clone());
                let computing = computing.with_tail(Some(tail));
                let found = computing.all(&spans, &mut ends).unwrap();
                assert_eq!(at_now.steps(), at, "it ends at a look");
                let last = found.iter().map(|one| one.to_step).max();
                assert_eq!(last, Some(at), "{found:?}");
                let holds = found.iter().all(Comparison::holds);
                assert_eq!(
                    holds,
                    from > at,
                    "every {every} up to {at}, wrong from {from}: {found:?}"
                );
            }
        }
    }
}
