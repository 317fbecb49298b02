//! The page's style.

pub(super) const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1a202c; --soft: #4a5568; --rule: #cbd5e0; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e2e8f0; --soft: #a0aec0; --rule: #4a5568; --paper: #1a202c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 860px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid var(--rule); }
p, caption { color: var(--soft); } code { font-size: 0.85em; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; } caption { text-align: left; }
th, td { padding: 0.2rem 0.6rem; text-align: right; border-bottom: 1px solid var(--rule); } th:first-child, td:first-child { text-align: left; }
.wide { overflow-x: auto; } .wide svg { min-width: 560px; } td { white-space: nowrap; }
td.t, th.t { text-align: left; } tr.sure td { font-weight: 600; }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 12px; } .grid { stroke: var(--rule); stroke-width: 0.5; }
.bar { fill: #2b6cb0; } .whisker { stroke: var(--ink); stroke-width: 1.2; fill: none; } .mark { fill: #dd6b20; }
";
