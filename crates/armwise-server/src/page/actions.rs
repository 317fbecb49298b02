//! What can be done from a page: end response windows, take a decision back, make and revoke tokens.
//!
//! Everything goes to the API, with the token that signed in; without a token with the scope `admin` nothing is offered.
//! Before anything happens, a dialog says what will.

use super::frame::panel;
use crate::{
    access::{Scope, Token},
    name::Name,
};
use armwise_campaign::core::{Fate, Sent};
use armwise_charts::{Cell, Table, escape, write};

/// Why nothing is offered.
pub(super) const NEEDS: &str = "<p>Actions need a token with the scope <code>admin</code>: <code>armwise token add NAME --scope admin</code> \
                     makes one, and signing in with it offers them here. The command line and the API can do the same.</p>\n";

/// A button with the dialog that it opens. `call` is a path of the API, `text` markup that says what will happen, `fields`
/// markup of inputs.
struct Action<'a> {
    id: &'a str,
    button: &'a str,
    method: &'a str,
    call: &'a str,
    text: &'a str,
    fields: &'a str,
}

impl Action<'_> {
    fn html(&self) -> String {
        let Action { id, button, method, call, text, fields } = self;
        format!(
            "<button data-opens=\"{id}\">{button}…</button>\n<dialog id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
             <form data-call=\"{}\" data-method=\"{method}\">\n<h2 id=\"{id}-title\">{button}?</h2>\n{text}{fields}\
             <p class=\"said\" role=\"alert\"></p>\n<div class=\"actions\"><button class=\"strong\">{button}</button>\
             <button type=\"button\" data-cancels>Cancel</button></div>\n</form></dialog>\n",
            escape(call)
        )
    }
}

/// What can be done with a campaign: a run of its decisions is closed. Everything else is done to one decision.
pub(super) fn of_campaign(name: &Name, may_act: bool) -> String {
    if !may_act {
        return panel("act", "Actions", true, NEEDS, "", "");
    }
    let close = Action {
        id: "close-range",
        button: "Close decisions",
        method: "POST",
        call: &format!("/v1/campaigns/{name}/rounds/close"),
        text: "<p>Ends the response windows of this decision and of all before it that are open, except those that are held. Arms that have \
               not been answered will count as silent with the default reward, and the model will learn that. Answers that come later \
               are refused as late. This cannot be undone.</p>\n",
        fields: "<p><label for=\"close-through\">The last decision to close</label><input id=\"close-through\" name=\"through\" \
                 required pattern=\"r[0-9]+(-[0-9a-z]+)*\" placeholder=\"r17\" autocomplete=\"off\"></p>\n",
    };
    let text = format!(
        "<p>Search for a decision to close its window or to take it back.</p>\n<div class=\"actions\">{}</div>\n",
        close.html()
    );
    panel("act", "Actions", true, &text, "", "")
}

/// What can be done with a decision that is neither revoked nor closed.
pub(super) fn of_decision(
    name: &Name,
    decision: &str,
    (revoked, closed): (bool, bool),
    rows: &[(Sent, Fate)],
    may_act: bool,
) -> String {
    if !may_act {
        return panel("act", "Actions", true, NEEDS, "", "");
    }
    if revoked || closed {
        return String::new();
    }
    let pending = rows.iter().filter(|(sent, fate)| !sent.hold_out && *fate == Fate::Pending).count();
    let text = format!(
        "<p>Ends the response window of this decision. {pending} of its {} arms have not been answered; they will count as silent with the \
         default reward, and the model will learn that. Answers that come later are refused as late. This cannot be undone.</p>\n",
        rows.len()
    );
    let close = Action {
        id: "close",
        button: "Close this decision",
        method: "POST",
        call: &format!("/v1/campaigns/{name}/rounds/close"),
        text: &text,
        fields: &format!("<input type=\"hidden\" name=\"decision\" value=\"{}\">\n", escape(decision)),
    };
    let text = format!(
        "<p>Takes back this decision with its {} arms, as if it had never been shown: nothing is learned of it, and its number \
         is not used again. Only a decision that nobody saw should be taken back. This cannot be undone.</p>\n",
        rows.len()
    );
    let revoke = Action {
        id: "revoke",
        button: "Revoke this decision",
        method: "POST",
        call: &format!("/v1/campaigns/{name}/decisions/{decision}/revoke"),
        text: &text,
        fields: "",
    };
    let both = close.html() + &revoke.html();
    panel("act", "Actions", true, &format!("<div class=\"actions\">{both}</div>\n"), "", "")
}

/// The page of tokens.
pub(super) fn tokens(tokens: Option<&[Token]>, may_act: bool) -> String {
    let mut out = String::from("<h1>Tokens</h1>\n");
    let Some(tokens) = tokens else {
        out.push_str(
            "<p>There are no tokens, so the server listens to this machine only, and everybody on it may do everything but act \
             from these pages.</p>\n",
        );
        out.push_str(NEEDS);
        return out;
    };
    if !may_act {
        out.push_str("<p>Tokens are shown to a token with the scope <code>admin</code> for all campaigns.</p>\n");
        return out;
    }
    let rows = tokens.iter().enumerate().map(|(place, token)| {
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
        let campaigns = token.campaigns.as_ref().map_or("all".to_owned(), |own| own.join(", "));
        let ends = match token.expires {
            None => "never",
            Some(_) if token.is_expired() => "expired",
            Some(_) => "later",
        };
        let text = format!(
            "<p>Whoever uses the token {} is refused from now on, within a second. This cannot be undone; a new token can be made.</p>\n",
            escape(&token.name)
        );
        let revoke = Action {
            id: &format!("revoke-{place}"),
            button: "Revoke",
            method: "DELETE",
            call: &format!("/v1/tokens/{}", token.name),
            text: &text,
            fields: "",
        };
        vec![
            Cell::text(&token.name),
            Cell::text(&scopes.join(", ")),
            Cell::text(&campaigns),
            Cell::text(ends),
            Cell::html(revoke.html()),
        ]
    });
    let head = ["name", "scopes", "campaigns", "ends", ""].map(Cell::text).to_vec();
    let table = Table { caption: String::new(), head, rows: rows.collect() }.html("full");
    let mut scopes = String::new();
    for (_, name) in Scope::ALL {
        write(&mut scopes, format_args!("<code>{name}</code> "));
    }
    let fields = format!(
        "<p><label for=\"token-name\">Name</label><input id=\"token-name\" name=\"name\" required pattern=\"[A-Za-z0-9][A-Za-z0-9_\\-]{{0,63}}\"></p>\n\
         <p><label for=\"token-scopes\">Scopes, separated by commas: {scopes}</label><input id=\"token-scopes\" name=\"scopes\" data-kind=\"list\" required value=\"read\"></p>\n\
         <p><label for=\"token-campaigns\">Campaigns, separated by commas; all where empty</label><input id=\"token-campaigns\" name=\"campaigns\" data-kind=\"list\"></p>\n"
    );
    let add = Action {
        id: "add-token",
        button: "Make a token",
        method: "POST",
        call: "/v1/tokens",
        text: "<p>Makes a token and shows it once. Whoever has it may do what its scopes say.</p>\n",
        fields: &fields,
    };
    out.push_str(&super::frame::live("tokens", &table));
    write(&mut out, format_args!("<div class=\"actions\">{}</div>\n", add.html()));
    out
}
