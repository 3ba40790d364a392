//! Stories: deliveries whose end is known. Playing one on a fresh stack shows what became of each delivery, and whether
//! that is what the story says.

mod play;
mod report;
mod story;

pub use play::play;
pub use report::{Compared, MirrorReport, Report, StepReport, differences};
pub use story::{Claim, MirrorView, Step, Story, Telling, Told};
