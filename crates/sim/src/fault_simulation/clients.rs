//! Clients whose requests are those of [`slotcast_object::client`]: async functions, each of which runs at one node and is
//! lost with it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use slotcast_engine::{Agenda, Stream};
use slotcast_member::{Answer, Input, Request, RequestNumber};
use slotcast_object::client::{BelievedBuckets, FoundBucket, NameService, Stopped};
use slotcast_object::{Entry, Name, NameAnswer, NameRequest, RequestKey};
use slotcast_units::Time;

use super::buckets::{End, Errand};
use super::cluster::Cluster;
use super::event::Event;

/// What a client asks of its node, and what it is told.
#[derive(Default)]
struct Desk {
    asks: u64,
    asked: VecDeque<(u64, Ask)>,
    answers: BTreeMap<u64, Answer>,
    waiting: BTreeMap<u64, Waker>,
}

impl Desk {
    fn ask(&mut self, request: Request) -> u64 {
        self.asks += 1;
        self.asked.push_back((self.asks, Ask::Request(Box::new(request))));
        self.asks
    }
}

enum Ask {
    Request(Box<Request>),
    /// All of the upload of this number is stored.
    UploadEnded(u64),
}

/// What all clients share.
struct Shared {
    now: Time,
    chance: Stream,
    believed: BTreeMap<u32, BelievedBuckets>,
    /// A mistake: buckets that are sealed look as if they were not.
    ignores_seals: bool,
}

/// A node, as a client of it reaches it.
#[derive(Clone)]
pub(super) struct ClientOf {
    node: u32,
    desk: Rc<RefCell<Desk>>,
    shared: Rc<RefCell<Shared>>,
}

/// An answer that is waited for.
struct Asking {
    ask: u64,
    desk: Rc<RefCell<Desk>>,
}

impl Future for Asking {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let mut desk = self.desk.borrow_mut();
        match desk.answers.remove(&self.ask) {
            Some(answer) => Poll::Ready(answer),
            None => {
                desk.waiting.insert(self.ask, context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl ClientOf {
    /// Asks the member for something.
    pub(super) async fn request(&self, request: Request) -> Answer {
        let ask = self.desk.borrow_mut().ask(request);
        Asking { ask, desk: self.desk.clone() }.await
    }

    pub(super) fn upload_ended(&self, upload: u64) {
        self.desk.borrow_mut().asked.push_back((0, Ask::UploadEnded(upload)));
    }
}

/// A request about content was not carried out, or the node has ended.
#[derive(Debug)]
pub(super) struct NotDone;

impl From<Stopped> for NotDone {
    fn from(_: Stopped) -> NotDone {
        NotDone
    }
}

impl NameService for ClientOf {
    type Error = NotDone;

    async fn ask(&self, request: NameRequest) -> Result<NameAnswer, Stopped> {
        match self.request(Request::Names(request)).await {
            Answer::Names(mut answer) => {
                if self.shared.borrow().ignores_seals {
                    open_all(&mut answer);
                }
                Ok(answer)
            }
            _ => Err(Stopped),
        }
    }

    fn new_key(&self) -> Result<RequestKey, Stopped> {
        Ok(request_key(&mut self.shared.borrow_mut().chance))
    }

    fn now_ms(&self) -> u64 {
        self.shared.borrow().now.as_ns() / 1_000_000
    }

    fn believes(&self, name: &Name) -> Option<FoundBucket> {
        self.shared.borrow().believed.get(&self.node)?.get(name)
    }

    fn keep(&self, found: &FoundBucket) {
        self.shared.borrow_mut().believed.entry(self.node).or_default().keep(found);
    }

    fn forget(&self, name: &Name) {
        self.shared.borrow_mut().believed.entry(self.node).or_default().forget(name);
    }
}

fn open_all(answer: &mut NameAnswer) {
    let NameAnswer::Says(Some(record)) = answer else { return };
    for version in &mut record.versions {
        if let Some(Entry::Bucket(bucket)) = &mut version.object {
            bucket.is_sealed = false;
        }
    }
}

/// A key that no other request has.
pub(super) fn request_key(chance: &mut Stream) -> RequestKey {
    let (high, low) = (chance.next_u64(), chance.next_u64());
    RequestKey(u128::from(high) << 64 | u128::from(low))
}

/// A client, until it is done.
struct Client {
    of: ClientOf,
    errand: Errand,
    run: Pin<Box<dyn Future<Output = End>>>,
}

/// Clients that are at something.
pub(super) struct Clients {
    running: BTreeMap<u64, Client>,
    requests: BTreeMap<RequestNumber, (u64, u64)>,
    shared: Rc<RefCell<Shared>>,
    begun: u64,
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.running.values().map(|client| &client.errand)).finish()
    }
}

impl Clients {
    pub(super) fn new(chance: Stream, ignores_seals: bool) -> Clients {
        let (now, believed) = (Time::ZERO, BTreeMap::new());
        let shared = Shared { now, chance, believed, ignores_seals };
        let shared = Rc::new(RefCell::new(shared));
        Clients { running: BTreeMap::new(), requests: BTreeMap::new(), shared, begun: 0 }
    }

    /// Whether no client is at anything.
    pub(super) fn is_quiet(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether this is a request of one of them.
    pub(super) fn has(&self, number: RequestNumber) -> bool {
        self.requests.contains_key(&number)
    }

    pub(super) fn new_key(&mut self) -> RequestKey {
        request_key(&mut self.shared.borrow_mut().chance)
    }

    /// The power of a node has failed: what its clients were at.
    pub(super) fn lose(&mut self, node: u32) -> Vec<Errand> {
        self.shared.borrow_mut().believed.remove(&node);
        let lost = self.running.extract_if(.., |_, client| client.of.node == node);
        let lost: BTreeMap<u64, Errand> = lost.map(|(id, client)| (id, client.errand)).collect();
        self.requests.retain(|_, (id, _)| !lost.contains_key(id));
        lost.into_values().collect()
    }

    /// A client of this node begins; it goes on with [`Clients::poll`].
    fn begin<R: Future<Output = End> + 'static>(
        &mut self,
        (node, errand): (u32, Errand),
        run: impl FnOnce(ClientOf) -> R,
    ) -> u64 {
        let of = ClientOf { node, desk: Rc::default(), shared: self.shared.clone() };
        self.begun += 1;
        let client = Client { of: of.clone(), errand, run: Box::pin(run(of)) };
        self.running.insert(self.begun, client);
        self.begun
    }

    /// Lets a client go on: how it ended, if it did.
    fn poll(&mut self, now: Time, id: u64) -> Option<(Errand, End)> {
        self.shared.borrow_mut().now = now;
        let client = self.running.get_mut(&id)?;
        match client.run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(end) => self.running.remove(&id).map(|client| (client.errand, end)),
            Poll::Pending => None,
        }
    }

    /// What a client wants to ask next, and of which node.
    fn next_ask(&mut self, id: u64) -> Option<(u32, u64, Ask)> {
        let client = self.running.get(&id)?;
        let (ask, what) = client.of.desk.borrow_mut().asked.pop_front()?;
        Some((client.of.node, ask, what))
    }

    /// A request is answered: the client that waits for that.
    fn answered(&mut self, number: RequestNumber, answer: Answer) -> Option<u64> {
        let (id, ask) = self.requests.remove(&number)?;
        let client = self.running.get(&id)?;
        let mut desk = client.of.desk.borrow_mut();
        desk.answers.insert(ask, answer);
        let waker = desk.waiting.remove(&ask);
        drop(desk);
        waker.into_iter().for_each(Waker::wake);
        Some(id)
    }
}

impl Cluster {
    /// A client of `node` begins.
    pub(super) fn begin_client<R: Future<Output = End> + 'static>(
        &mut self,
        now: Time,
        errand: (u32, Errand),
        run: impl FnOnce(ClientOf) -> R,
        agenda: &mut Agenda<Event>,
    ) {
        let id = self.buckets.clients.begin(errand, run);
        self.client_goes_on(now, id, agenda);
    }

    /// A request of a client is answered.
    pub(super) fn client_answered(
        &mut self,
        now: Time,
        (number, answer): (RequestNumber, Answer),
        agenda: &mut Agenda<Event>,
    ) {
        if let Some(id) = self.buckets.clients.answered(number, answer) {
            self.client_goes_on(now, id, agenda);
        }
    }

    fn client_goes_on(&mut self, now: Time, id: u64, agenda: &mut Agenda<Event>) {
        if let Some((errand, end)) = self.buckets.clients.poll(now, id) {
            return self.errand_ended(now, errand, end, agenda);
        }
        // What is answered at once lets it go on, and ask for more, in between.
        while let Some((node, ask, what)) = self.buckets.clients.next_ask(id) {
            match what {
                Ask::Request(request) => {
                    self.asked += 1;
                    let number = RequestNumber(self.asked);
                    self.buckets.clients.requests.insert(number, (id, ask));
                    self.tell(now, node, Input::Request(number, *request), agenda);
                }
                Ask::UploadEnded(upload) => {
                    self.tell(now, node, Input::UploadEnded(upload), agenda);
                }
            }
        }
    }
}
