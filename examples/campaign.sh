#!/usr/bin/env bash
# A campaign of eight weeks on a made-up market of 50,000 customers: a week's choice is taken back before it is sent, and
# from the fifth week on there is a new promotion. Run it from anywhere; it works in a folder of its
# own and needs the built program (`cargo build --release`) and Python 3. `make test` runs it.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
armwise="${ARMWISE:-$here/../target/release/armwise}"
armwise="$(cd "$(dirname "$armwise")" && pwd)/armwise"
cd "${1:-$(mktemp -d)}"
python3 "$here/customers.py" table customers.csv
python3 "$here/customers.py" workbook customers.xlsx

cat > rules.toml <<'RULES'
customer = "customer"
segment = "region"

[algorithm]
name = "arm-wise-ts"
v = 0.3

[limits]
rest = 1
hold_out = 0.05

[[promotion]]
name = "mail"
quota = 1500

[[promotion]]
name = "call"
quota = 800
eligible = "may_call"

[[features.column]]
name = "age"
kind = "numeric"
[[features.column]]
name = "visits"
kind = "numeric"
[[features.column]]
name = "region"
kind = "categorical"
[[features.column]]
name = "plan"
kind = "categorical"
RULES

"$armwise" init spring.armwise --from customers.csv --config rules.toml
round=0
for week in 1 2 3 4 5 6 7 8; do
  if [ "$week" = 3 ]; then
    # The printer is broken: nothing was sent, so nobody rests and nothing is silent.
    "$armwise" choose spring.armwise customers.csv --out sends.csv
    round=$((round + 1))
    "$armwise" revoke spring.armwise --round "$round"
  fi
  if [ "$week" = 5 ]; then
    # A new promotion, and fewer mails; what was learned stays.
    sed 's/quota = 1500/quota = 1400/' rules.toml > new.toml
    printf '\n[[promotion]]\nname = "gift"\nquota = { max = 800 }\n' >> new.toml
    "$armwise" amend spring.armwise --config new.toml
  fi
  if [ "$week" = 4 ]; then
    # This week the table comes from a spreadsheet, and the sends go to one: the same customers, the same choice.
    "$armwise" choose spring.armwise customers.csv --dry-run --json > from-csv.json
    "$armwise" choose spring.armwise customers.xlsx --out sends.xlsx --json > from-xlsx.json
    cmp from-csv.json from-xlsx.json
  else
    "$armwise" choose spring.armwise customers.csv --out sends.csv
  fi
  round=$((round + 1))
  "$armwise" export spring.armwise results --round "$round" --out results.csv  # sends and the hold-out
  python3 "$here/customers.py" answers results.csv answers.csv
  "$armwise" learn spring.armwise answers.csv
  "$armwise" learn spring.armwise answers.csv     # once more: each answer is counted once
  "$armwise" close spring.armwise --round "$round"
done
"$armwise" status spring.armwise
"$armwise" report spring.armwise --html report.html --json > report.json
"$armwise" verify spring.armwise
python3 "$here/customers.py" check report.json
echo "the report is $PWD/report.html"
