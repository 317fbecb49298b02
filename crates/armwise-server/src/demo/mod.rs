//! `armwise demo`: a server with a made-up shop that keeps deciding and answering over the server's own API.
//!
//! The shop is a client like any other: it asks for decisions with keys, shows them to made-up visitors, and tells the
//! clicks seconds later. Two campaigns run: `shop`, four items for each visit, and `letters`, promotions with quotas and a
//! hold-out for its customers every few seconds.

mod client;
mod letters;
mod shop;

use crate::{Options, Server, problem::Fault};
use client::Client;
use hyper::Method;
use letters::Letters;
use serde_json::{Value, json};
use shop::Shop;
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio::runtime;

/// What the demo does.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// The folder of its campaigns.
    pub data: PathBuf,
    /// What its visitors are drawn from.
    pub seed: u64,
    /// Visits a second; at most 100.
    pub rate: f64,
    /// The port to listen at; 0 for one that is free.
    pub port: u16,
}

/// A running demo.
#[derive(Debug)]
pub struct Demo {
    server: Server,
    shop: std::thread::JoinHandle<Result<(), String>>,
}

/// How many visits there are before the page is shown, so that there is something to see.
const BEFORE: u64 = 150;
/// How many items a visit shows.
const SHOWN: usize = 4;
/// How long an answer is waited for.
const WINDOW: &str = "10s";
/// The time between two rounds of letters.
const LETTERS_EVERY: Duration = Duration::from_secs(4);

impl Demo {
    /// Starts the server and the shop, and comes back when the first visitors have been there.
    ///
    /// # Errors
    /// [`Fault`] if the server cannot start, or refuses what the shop asks for.
    pub fn start(options: &DemoOptions) -> Result<Self, Fault> {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let server = Server::start(Options::new(options.data.clone(), listen))?;
        let (address, options) = (server.address(), options.clone());
        let (opened, open) = std::sync::mpsc::channel();
        let stop = server.stopper();
        let mut stopping = stop.subscribe();
        let thread = std::thread::Builder::new().name("armwise-shop".to_owned()).spawn(move || {
            let runtime =
                runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
            runtime.block_on(async move {
                let mut demo = match Running::open(address, &options).await {
                    Ok(demo) => demo,
                    Err(problem) => {
                        let _ = opened.send(Err(problem.clone()));
                        return Err(problem);
                    }
                };
                let _ = opened.send(Ok(()));
                tokio::select! {
                    ended = demo.run() => {
                        let _ = stop.send(true);
                        ended
                    }
                    // The server stops: that is no failure of the shop.
                    _ = stopping.wait_for(|stop| *stop) => Ok(()),
                }
            })
        });
        let shop = thread.map_err(|error| Fault::internal(format!("no thread: {error}")))?;
        match open.recv() {
            Ok(Ok(())) => Ok(Self { server, shop }),
            Ok(Err(problem)) => Err(Fault::internal(format!("the made-up shop cannot open: {problem}"))),
            Err(_) => Err(Fault::internal("the made-up shop has gone")),
        }
    }

    /// Where its page is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Runs until the process is interrupted, or for this long, and stops; what was accepted is finished.
    ///
    /// # Errors
    /// [`Fault`] with what the shop stumbled over.
    pub fn stop_after(self, time: Option<Duration>) -> Result<(), Fault> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Fault::internal(format!("no threads: {error}")))?;
        let mut stopping = self.server.stopper().subscribe();
        runtime.block_on(async {
            let for_ever = Duration::from_secs(u32::MAX.into());
            tokio::select! {
                () = tokio::time::sleep(time.unwrap_or(for_ever)) => {}
                _ = tokio::signal::ctrl_c() => {}
                // The shop has stumbled.
                _ = stopping.wait_for(|stop| *stop) => {}
            }
        });
        self.server.stop();
        match self.shop.join() {
            Ok(ended) => ended.map_err(Fault::internal),
            Err(_) => Err(Fault::internal("the made-up shop failed")),
        }
    }
}

/// Something that the shop will tell the server.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Later {
    at: Instant,
    campaign: &'static str,
    decision: String,
    rewards: String,
}

/// The shop at work.
struct Running {
    client: Client,
    shop: Shop,
    letters: Letters,
    rate: f64,
    /// How the keys of this run begin, so that a folder can be used again.
    run: String,
    visit: u64,
    round: u64,
    later: BinaryHeap<Reverse<Later>>,
}

impl Running {
    async fn open(address: SocketAddr, options: &DemoOptions) -> Result<Self, String> {
        let mut client = Client::connect(address).await?;
        // The campaigns of an earlier demo are read first.
        while client.send(Method::GET, "/readyz", None, &Value::Null).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (shop, letters) = (Shop::new(options.seed), Letters::new(options.seed));
        client.send(Method::PUT, "/v1/campaigns/shop", None, &shop.rules(WINDOW)).await?;
        client.send(Method::PUT, "/v1/campaigns/shop/arms", None, &shop.catalogue()).await?;
        client.send(Method::PUT, "/v1/campaigns/letters", None, &letters.rules(WINDOW)).await?;
        let run = format!("demo-{}", crate::access::now());
        let rate = if options.rate.is_finite() { options.rate.clamp(0.1, 100.0) } else { 8.0 };
        let later = BinaryHeap::new();
        let mut demo = Self { client, shop, letters, rate, run, visit: 0, round: 0, later };
        for _ in 0..BEFORE {
            demo.visit(Duration::ZERO).await?;
        }
        demo.tell(Instant::now()).await?;
        Ok(demo)
    }

    /// Visits and letters for ever, at their pace.
    async fn run(&mut self) -> Result<(), String> {
        let between = Duration::from_secs_f64(1.0 / self.rate);
        let (mut next, mut letters) = (Instant::now(), Instant::now());
        loop {
            let now = Instant::now();
            self.tell(now).await?;
            if now >= letters {
                self.letters().await?;
                letters = now + LETTERS_EVERY;
            }
            if now >= next {
                self.visit(Duration::from_secs(1)).await?;
                // Whoever falls behind does not catch up: the demo is no load test.
                next = (next + between).max(now);
            }
            let due = self.later.peek().map_or(next, |Reverse(later)| later.at.min(next)).min(letters);
            tokio::time::sleep_until(due.into()).await;
        }
    }

    /// One visit; clicks come after their delay, which is measured in `second`.
    async fn visit(&mut self, second: Duration) -> Result<(), String> {
        let visit = self.visit;
        self.visit += 1;
        let key = format!("{}-visit-{visit}", self.run);
        let asked = json!({ "k": SHOWN, "context": self.shop.visitor(visit).context() });
        let answer = self.client.send(Method::POST, "/v1/campaigns/shop/decisions", Some(&key), &asked).await?;
        let decision = answer["decision"].as_str().unwrap_or_default().to_owned();
        for id in answer["arms"].as_array().into_iter().flatten().filter_map(|arm| arm["id"].as_str()) {
            let click = self.shop.place(id).and_then(|place| self.shop.click(visit, place));
            if let Some(after) = click {
                let at = Instant::now() + second.mul_f64(after.min(60.0));
                let rewards = json!({ "rewards": { id: 1.0 } }).to_string();
                self.later.push(Reverse(Later { at, campaign: "shop", decision: decision.clone(), rewards }));
            }
        }
        Ok(())
    }

    /// One round of letters.
    async fn letters(&mut self) -> Result<(), String> {
        let round = self.round;
        self.round += 1;
        let key = format!("{}-letters-{round}", self.run);
        let asked = json!({ "arms": self.letters.arms() });
        let answer = self.client.send(Method::POST, "/v1/campaigns/letters/decisions", Some(&key), &asked).await?;
        let decision = answer["decision"].as_str().unwrap_or_default().to_owned();
        let sent = answer["arms"].as_array().into_iter().flatten();
        let sent = sent.filter_map(|arm| Some((arm["id"].as_str()?, arm["promotion"].as_str()?)));
        // A shop sees who buys, not who is in the hold-out: it tells all of them, and the campaign knows whom it decided about.
        let bought = self.letters.buyers(round, &sent.collect());
        let bought: Vec<Value> = bought.into_iter().map(|id| json!({ "id": id, "reward": 1.0 })).collect();
        let at = Instant::now() + Duration::from_secs(3);
        let rewards = json!({ "rewards": bought }).to_string();
        self.later.push(Reverse(Later { at, campaign: "letters", decision, rewards }));
        Ok(())
    }

    /// Tells what is due.
    async fn tell(&mut self, now: Instant) -> Result<(), String> {
        while self.later.peek().is_some_and(|Reverse(later)| later.at <= now) {
            let Some(Reverse(Later { campaign, decision, rewards, .. })) = self.later.pop() else { break };
            let path = format!("/v1/campaigns/{campaign}/decisions/{decision}/rewards");
            let rewards: Value = serde_json::from_str(&rewards).unwrap_or_default();
            self.client.send(Method::PUT, &path, None, &rewards).await?;
        }
        Ok(())
    }
}
