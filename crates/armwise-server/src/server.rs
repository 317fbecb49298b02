//! A server that runs in threads of its own until it is told to stop.

use crate::{
    app::{self, App},
    listen,
    options::Options,
    problem::Fault,
};
use axum::http::StatusCode;
use std::{net::SocketAddr, sync::Arc, thread::JoinHandle, time::Duration};
use tokio::{net::TcpListener, runtime, sync::watch};

/// How often a database is asked for what other servers made.
const WATCH: Duration = Duration::from_millis(700);

/// A running server. Dropped without [`stop`](Self::stop), it is told to stop and not waited for.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    app: Arc<App>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// The kind of fault of a server that others could reach though there are no tokens.
    pub const NO_TOKENS: &'static str = "no-tokens";

    /// Starts a server; when this returns, it listens, and its campaigns are being opened.
    ///
    /// # Errors
    /// [`Fault`] for a folder that cannot be made, an address that cannot be listened at or that others can reach though
    /// there are no tokens, or files for TLS that cannot be read.
    pub fn start(options: Options) -> Result<Self, Fault> {
        std::fs::create_dir_all(&options.data)
            .map_err(|error| Fault::invalid(format!("{}: {error}", options.data.display())))?;
        let tls = options.tls.as_ref().map(listen::tls).transpose()?;
        let (stop, stopping) = watch::channel(false);
        let (listen_at, limits) = (options.listen, options.limits);
        let app = Arc::new(App::new(options, stopping.clone()));
        if app.tokens.all()?.is_none() && !app.is_local {
            let detail = format!("{listen_at} can be reached by others, and there are no tokens");
            return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, Self::NO_TOKENS, detail));
        }
        let runtime = runtime::Builder::new_multi_thread()
            .thread_name("armwise-http")
            .enable_all()
            .build()
            .map_err(|error| Fault::internal(format!("no threads: {error}")))?;
        let listener = runtime
            .block_on(TcpListener::bind(listen_at))
            .map_err(|error| Fault::invalid(format!("{listen_at}: {error}")))?;
        let address = listener.local_addr().map_err(|error| Fault::internal(error.to_string()))?;
        let router = app::router(&app);
        let opening = Arc::clone(&app);
        // Journals are read beside, so that whoever asks is told that they are being read.
        let stops = stopping.clone();
        let opened = std::thread::Builder::new().name("armwise-opening".to_owned()).spawn(move || {
            let _ = opening.campaigns.refresh();
            opening.campaigns.open_all();
            opening.set_ready();
            // What other servers made, and who may come in, is in the database too.
            while opening.options.store.is_some() && !*stops.borrow() {
                std::thread::sleep(WATCH);
                opening.tokens.refresh();
                let _ = opening.campaigns.refresh();
            }
        });
        opened.map_err(|error| Fault::internal(format!("no thread: {error}")))?;
        let serving = Arc::clone(&app);
        let thread = std::thread::Builder::new().name("armwise-server".to_owned()).spawn(move || {
            runtime.block_on(listen::serve(listener, router, tls, limits, stopping));
            serving.campaigns.stop();
        });
        let thread = thread.map_err(|error| Fault::internal(format!("no thread: {error}")))?;
        Ok(Self { address, app, stop, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its requests share.
    #[must_use]
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// What tells it to stop.
    #[must_use]
    pub fn stopper(&self) -> watch::Sender<bool> {
        self.stop.clone()
    }

    /// Waits until the process is told to stop (Ctrl-C, or SIGTERM), then stops.
    ///
    /// A second signal ends the process as it always does, since nobody listens to it here.
    pub fn until_signal(self) {
        let told = runtime::Builder::new_current_thread().enable_all().build().map(|runtime| {
            runtime.block_on(async {
                #[cfg(unix)]
                {
                    use tokio::signal::unix::{SignalKind, signal};
                    let Ok(mut term) = signal(SignalKind::terminate()) else { return };
                    tokio::select! {
                        _ = term.recv() => {}
                        _ = tokio::signal::ctrl_c() => {}
                    }
                }
                #[cfg(not(unix))]
                let _ = tokio::signal::ctrl_c().await;
            });
        });
        if told.is_ok() {
            tracing::info!("stopping");
            self.stop();
        } else {
            self.wait();
        }
    }

    /// Stops: no new connection is taken, what was accepted is finished.
    pub fn stop(self) {
        let _ = self.stop.send(true);
        self.wait();
    }

    /// Waits until it has stopped.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.stop.send(true);
        }
    }
}
