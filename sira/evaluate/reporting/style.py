"""The style of report.html: Okabe and Ito's colours, lighter on dark paper, and patterns beside them."""

STYLE = """
:root { --c1: #0072b2; --c2: #d55e00; --c3: #009e73; --c4: #b0568a; --c5: #b87f00; --c6: #2a93cf; }
@media (prefers-color-scheme: dark) {
  :root { --c1: #5aa9e6; --c2: #f0803c; --c3: #2fc49b; --c4: #e29bc4; --c5: #f2b84b; --c6: #a6dcff; } }
header { margin-bottom: .8rem; } h1 { margin: .2rem 0 .4rem; } h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .6rem 0 1rem; }
a { color: inherit; } :focus-visible { outline: 3px solid var(--good); outline-offset: 2px; }
.caveat { border-left: .35rem solid var(--bad); background: var(--card); padding: .5rem .8rem; margin: .6rem 0; }
.soft { font-size: .85rem; }
table { font-size: .9rem; } thead th { font-weight: 600; white-space: nowrap; vertical-align: bottom; }
.scroll table { width: max-content; } td { max-width: min(24rem, 60vw); overflow-wrap: break-word; }
.quality tbody th { font-weight: 400; max-width: min(20rem, 45vw); position: sticky; left: 0; background: var(--card); }
.quality tbody th a { font-weight: 600; } .quality code { display: block; color: var(--soft); font-size: .78rem; }
.quality tbody td { font-variant-numeric: tabular-nums; }
.quality .mark { display: inline-block; width: .6em; text-align: left; }
.figures { display: grid; gap: 1rem 2rem; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); }
figure { margin: 0; min-width: 0; } figcaption { font-weight: 600; margin: .3rem 0; }
figure > svg { display: block; width: 100%; max-width: 34rem; height: auto; overflow: visible; }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif; } svg .strong { font-weight: 700; }
svg .halo { paint-order: stroke; stroke: var(--card); stroke-width: 3px; stroke-linejoin: round; }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); } svg .whisker { stroke: var(--ink); }
.c0 { --c: var(--ink); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); }
svg .mark { fill: var(--c); stroke: var(--card); stroke-width: 1; }
svg .curve { fill: none; stroke: var(--c); stroke-width: 1.6; }
svg .frontier { fill: none; stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 4 3; }
svg .bar { fill: var(--good); fill-opacity: .8; } svg .heat { fill: var(--good); }
svg .hatched { fill: url(#hatch); stroke: var(--ink); stroke-width: .7; }
svg .hatched.bad { fill: url(#hatch-bad); stroke: var(--bad); }
svg .frame { fill: none; stroke: var(--ink); stroke-width: 2; } svg .dashed { stroke-width: 1; stroke-dasharray: 3 2; }
svg .unseen { fill: transparent; } svg .unseen:hover { fill: var(--ink); fill-opacity: .15; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem .9rem; list-style: none; margin: .3rem 0; padding: 0;
  font-size: .85rem; }
.legend li { display: flex; align-items: center; gap: .3rem; min-width: 0; }
.swatch { width: 26px; height: 12px; flex: none; }
.patterns { position: absolute; width: 0; height: 0; }
@media (max-width: 34rem) { body { padding: .7rem; } section { padding: .6rem; } }
@media print { figure { break-inside: avoid; } }
"""

PATTERNS = (
    '<svg class="patterns" aria-hidden="true" xmlns="http://www.w3.org/2000/svg"><defs>'
    + "".join(
        f'<pattern id="{name}" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="5" height="5" style="fill:var(--card)"/>'
        f'<line x1="1" y1="0" x2="1" y2="5" style="stroke:var({colour});stroke-width:2"/></pattern>'
        for name, colour in (("hatch", "--ink"), ("hatch-bad", "--bad"))
    )
    + "</defs></svg>\n"
)
