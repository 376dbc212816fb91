#!/bin/bash
# Checks README.md and docs/ (scripts/docs_check.pl), and the answers of docs/cookbook.md (scripts/cookbook.pl),
# against a private server with the extension in it.
# Called by `make docs-check`.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/private_cluster.sh"

cluster_install
# Examples that time out are wrong; the options' defaults are what a new server has.
KDE_AQP_CONF="timezone = 'UTC'
statement_timeout = '120s'"
cluster_start
cd "$CLUSTER_REPO" || exit 1
rc=0
cluster_job "$here/docs_check.pl" </dev/null || rc=1
cluster_job "$here/cookbook.pl" check </dev/null || rc=1
exit $rc
