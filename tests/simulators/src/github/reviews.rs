//! Reviews of pull requests.

use serde_json::json;

use crate::github::{
    GitHub,
    deliveries::fields,
    model::{RepositoryId, Review, ReviewState, User},
    refusal::Refusal,
    render::{Shape, Urls, View},
    specs::ReviewSpec,
    world::Simulation,
};

impl GitHub {
    /// Reviews a pull request and gives the review's id. A pending review is told to nobody.
    ///
    /// # Errors
    /// [`Refusal::OwnPullRequest`], [`Refusal::ReviewState`] for a dismissed one, [`Refusal::NoSuchCommit`],
    /// [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn review(
        &self,
        repository: RepositoryId,
        number: u64,
        spec: ReviewSpec,
        by: &User,
    ) -> Result<u64, Refusal> {
        self.change(|simulation| {
            let id = simulation.add_review(repository, number, spec, by.id)?;
            if simulation.find_review(repository, number, id)?.state != ReviewState::Pending {
                simulation.raise_review(repository, number, ("submitted", id), by.id)?;
            }
            Ok(id)
        })
    }

    /// Submits a pending review as what it says now.
    ///
    /// # Errors
    /// [`Refusal::ReviewState`], [`Refusal::OwnPullRequest`], [`Refusal::NoSuchReview`], [`Refusal::NoSuchPullRequest`]
    pub fn submit_review(
        &self,
        repository: RepositoryId,
        number: u64,
        id: u64,
        state: ReviewState,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let now = simulation.now();
            let is_word = !matches!(state, ReviewState::Pending | ReviewState::Dismissed);
            let review = simulation.find_review(repository, number, id)?;
            let (was, by) = (review.state, review.author);
            if was != ReviewState::Pending || !is_word {
                return Err(Refusal::ReviewState(id));
            }
            simulation.may_review(repository, number, state, by)?;
            let review = simulation.review_mut(repository, number, id)?;
            review.state = state;
            review.submitted_at = Some(now);
            simulation.raise_review(repository, number, ("submitted", id), by)
        })
    }

    /// Dismisses an approval or a request for changes: it counts no more, whatever it said.
    ///
    /// # Errors
    /// [`Refusal::ReviewState`], [`Refusal::NoSuchReview`], [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn dismiss_review(
        &self,
        repository: RepositoryId,
        number: u64,
        id: u64,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let review = simulation.review_mut(repository, number, id)?;
            match review.state {
                ReviewState::Approved | ReviewState::ChangesRequested => {
                    review.state = ReviewState::Dismissed;
                }
                ReviewState::Commented | ReviewState::Dismissed | ReviewState::Pending => {
                    return Err(Refusal::ReviewState(id));
                }
            }
            simulation.raise_review(repository, number, ("dismissed", id), by.id)
        })
    }
}

impl Simulation {
    fn add_review(
        &mut self,
        repository: RepositoryId,
        number: u64,
        spec: ReviewSpec,
        by: u64,
    ) -> Result<u64, Refusal> {
        self.world.account(by)?;
        self.may_review(repository, number, spec.state, by)?;
        let (id, now) = (self.ids.next(), self.now());
        let head = self.world.pull(repository, number)?.head.sha;
        let commit = spec.commit.unwrap_or(head);
        let objects = self.world.objects_of(repository)?;
        objects.commit(commit).ok_or(Refusal::NoSuchCommit(commit))?;
        let submitted_at = match spec.state {
            ReviewState::Pending => None,
            ReviewState::Dismissed => return Err(Refusal::ReviewState(id)),
            ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Commented => {
                Some(now)
            }
        };
        let ReviewSpec { state, body, .. } = spec;
        let review = Review { id, author: by, state, body, commit, submitted_at };
        self.world_mut().pull_mut(repository, number)?.reviews.push(review);
        Ok(id)
    }

    fn may_review(
        &self,
        repository: RepositoryId,
        number: u64,
        state: ReviewState,
        by: u64,
    ) -> Result<(), Refusal> {
        let author = self.world.pull(repository, number)?.author;
        let judges = matches!(state, ReviewState::Approved | ReviewState::ChangesRequested);
        if judges && author == by { Err(Refusal::OwnPullRequest(number)) } else { Ok(()) }
    }

    fn find_review(
        &self,
        repository: RepositoryId,
        number: u64,
        id: u64,
    ) -> Result<&Review, Refusal> {
        let mut reviews = self.world.pull(repository, number)?.reviews.iter();
        reviews.find(|review| review.id == id).ok_or(Refusal::NoSuchReview(id))
    }

    fn review_mut(
        &mut self,
        repository: RepositoryId,
        number: u64,
        id: u64,
    ) -> Result<&mut Review, Refusal> {
        let mut reviews = self.world_mut().pull_mut(repository, number)?.reviews.iter_mut();
        reviews.find(|review| review.id == id).ok_or(Refusal::NoSuchReview(id))
    }

    fn raise_review(
        &mut self,
        repository: RepositoryId,
        number: u64,
        (action, id): (&'static str, u64),
        by: u64,
    ) -> Result<(), Refusal> {
        self.touched(repository, number)?;
        let view = View::of(&self.world, Urls::github());
        let row = self.world.repository(repository)?;
        let pull = self.world.pull(repository, number)?;
        let review = view.review(row, pull, self.find_review(repository, number, id)?);
        let told = fields([
            ("action", json!(action)),
            ("review", review),
            ("pull_request", view.pull(row, pull, Shape::Simple)?),
        ]);
        self.raise("pull_request_review", repository, by, told)
    }
}
