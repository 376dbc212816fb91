// The shards of a table of Citus, what is run on them and what comes back: a JSON array a session.
#include "pg/catalog/shards.h"

#include "pg/base/pinned.h"

extern "C" {
#include "executor/spi.h"
#include "storage/lmgr.h"
}

namespace kde_pg {

namespace {

// Sessions of a node that work on the shards of a table at a time.
constexpr int kSessionsPerNode = 4;

// The shards, in the order of their numbers, each with one node that has it, or none.
constexpr char kShardsQuery[] =
    "SELECT DISTINCT ON (s.shardid) s.shardid, pg_catalog.shard_name(s.logicalrelid, s.shardid),"
    " n.nodename::pg_catalog.text, n.nodeport, n.nodeid"
    " FROM pg_catalog.pg_dist_shard s"
    " LEFT JOIN (pg_catalog.pg_dist_placement p JOIN pg_catalog.pg_dist_node n"
    " ON n.groupid OPERATOR(pg_catalog.=) p.groupid AND n.isactive"
    " AND n.noderole OPERATOR(pg_catalog.=) 'primary' AND p.shardstate OPERATOR(pg_catalog.=) 1)"
    " ON p.shardid OPERATOR(pg_catalog.=) s.shardid"
    " WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1 ORDER BY s.shardid, n.nodeid";

// Of each session what came of each of its shards, or what went wrong.
constexpr char kResultsQuery[] =
    "SELECT r.node_name, r.node_port, r.success, r.result,"
    " (j.value OPERATOR(pg_catalog.->>) 's')::pg_catalog.int8,"
    " (j.value OPERATOR(pg_catalog.->>) 'c')::pg_catalog.int8[],"
    " pg_catalog.decode(j.value OPERATOR(pg_catalog.->>) 'v', 'base64')"
    " FROM pg_catalog.master_run_on_worker($1, $2, $3, true) AS r"
    " LEFT JOIN LATERAL pg_catalog.json_array_elements(CASE WHEN r.success THEN "
    "r.result::pg_catalog.json END)"
    " AS j ON true ORDER BY 5";

struct Shard {
  int64 number;
  const char* name;
  const char* node;
  int port, node_id;
};

void connect_spi() {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
}

void execute(const char* query, int n, Oid* types, Datum* values) {
  if (SPI_execute_with_args(query, n, types, values, nullptr, true, 0) != SPI_OK_SELECT)
    elog(ERROR, "SPI_execute failed");
}

Datum value_at(uint64 row, int column, bool* is_null) {
  return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, is_null);
}

// A List of Shard*, of the context `out`. To be called within SPI.
List* read_shards(Oid relation, MemoryContext out) {
  Oid type = REGCLASSOID;
  Datum value = ObjectIdGetDatum(relation);
  execute(kShardsQuery, 1, &type, &value);
  MemoryContext spi = MemoryContextSwitchTo(out);
  List* shards = NIL;
  for (uint64 i = 0; i < SPI_processed; ++i) {
    bool is_null;
    auto* shard = static_cast<Shard*>(palloc(sizeof(Shard)));
    shard->number = DatumGetInt64(value_at(i, 1, &is_null));
    shard->name = TextDatumGetCString(value_at(i, 2, &is_null));
    const Datum node = value_at(i, 3, &is_null);
    if (is_null)
      ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR),
                      errmsg("no active node has shard %lld of \"%s\"",
                             static_cast<long long>(shard->number), get_rel_name(relation)),
                      errhint("citus_get_active_worker_nodes() lists the nodes that are active.")));
    shard->node = TextDatumGetCString(node);
    shard->port = DatumGetInt32(value_at(i, 4, &is_null));
    shard->node_id = DatumGetInt32(value_at(i, 5, &is_null));
    shards = lappend(shards, shard);
  }
  MemoryContextSwitchTo(spi);
  return shards;
}

// What a session runs for its shards, one after another.
struct Session {
  const char* node;
  int port, node_id, shards;
  StringInfoData command;
};

void append_shard(Session* session, const Shard& shard, const char* expression) {
  StringInfo out = &session->command;
  const char* name = quote_literal_cstr(shard.name);
  appendStringInfo(out, "%sSELECT %lld AS s, kde_aqp.shard_counters(%s)::pg_catalog.text AS c, ",
                   session->shards++ > 0 ? " UNION ALL " : "", static_cast<long long>(shard.number),
                   name);
  if (expression == nullptr) {
    appendStringInfoString(out, "NULL::pg_catalog.text AS v");
    return;
  }
  appendStringInfoString(out, "pg_catalog.encode(");
  for (const char* at = expression; *at != '\0'; ++at) {
    if (*at == KDE_SHARD[0]) {
      appendStringInfoString(out, name);
    } else {
      appendStringInfoChar(out, *at);
    }
  }
  appendStringInfoString(out, ", 'base64') AS v");
}

// Gives the shards of each node to a few sessions in turn.
List* make_sessions(List* shards, const char* expression) {
  List* sessions = NIL;
  for (const Shard* shard : of_list<const Shard>(shards)) {
    Session* least = nullptr;
    int of_node = 0;
    for (Session* session : of_list<Session>(sessions)) {
      if (session->node_id != shard->node_id) continue;
      ++of_node;
      if (least == nullptr || session->shards < least->shards) least = session;
    }
    if (of_node < kSessionsPerNode) {
      least = static_cast<Session*>(palloc0(sizeof(Session)));
      least->node = shard->node;
      least->port = shard->port;
      least->node_id = shard->node_id;
      initStringInfo(&least->command);
      appendStringInfoString(&least->command,
                             "SELECT pg_catalog.json_agg(pg_catalog.row_to_json(x)) FROM (");
      sessions = lappend(sessions, least);
    }
    append_shard(least, *shard, expression);
  }
  for (Session* item : of_list<Session>(sessions)) appendStringInfoString(&item->command, ") AS x");
  return sessions;
}

[[noreturn]] void raise_failed(Relation relation, const char* node, int port, const char* said) {
  const bool other_version =
      strstr(said, "kde_aqp") != nullptr && strstr(said, "does not exist") != nullptr;
  ereport(ERROR,
          (errcode(ERRCODE_SYSTEM_ERROR),
           errmsg("could not read the shards of \"%s\" on %s:%d", RelationGetRelationName(relation),
                  node, port),
           errdetail_internal("%s", said),
           other_version ? errhint("The extension must be installed on every node, in one version.")
                         : 0));
  pg_unreachable();
}

List* read_results(Relation relation, MemoryContext out) {
  List* results = NIL;
  MemoryContext spi = MemoryContextSwitchTo(out);
  for (uint64 i = 0; i < SPI_processed; ++i) {
    bool is_null;
    const bool success = DatumGetBool(value_at(i, 3, &is_null));
    if (!success || is_null) {
      const Datum said = value_at(i, 4, &is_null);
      const char* message = is_null ? "It said nothing." : TextDatumGetCString(said);
      const char* node = TextDatumGetCString(value_at(i, 1, &is_null));
      raise_failed(relation, node, DatumGetInt32(value_at(i, 2, &is_null)), message);
    }
    auto* result = static_cast<ShardResult*>(palloc0(sizeof(ShardResult)));
    result->shard = DatumGetInt64(value_at(i, 5, &is_null));
    const Datum counters = value_at(i, 6, &is_null);
    if (!is_null) result->counters = counters_from_array(DatumGetArrayTypePCopy(counters));
    const Datum value = value_at(i, 7, &is_null);
    if (!is_null) result->value = reinterpret_cast<struct varlena*>(PG_DETOAST_DATUM_COPY(value));
    results = lappend(results, result);
  }
  MemoryContextSwitchTo(spi);
  return results;
}

// In a session with others' shards a command that waits for this transaction would wait for ever.
void check_unchanged_here(Relation relation) {
  if (CheckRelationLockedByMe(relation, ShareLock, true))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("cannot read the shards of \"%s\" in the transaction that altered or "
                           "locked it",
                           RelationGetRelationName(relation)),
                    errhint("Commit first.")));
}

}  // namespace

int count_shards(Oid relation) {
  PinnedSettings settings;
  settings.begin();
  connect_spi();
  const int count = list_length(read_shards(relation, CurrentMemoryContext));
  SPI_finish();
  settings.end();
  return count;
}

List* run_on_shards(Relation relation, const char* expression) {
  check_unchanged_here(relation);
  MemoryContext caller = CurrentMemoryContext;
  PinnedSettings settings;
  settings.begin();
  connect_spi();
  List* shards = read_shards(RelationGetRelid(relation), CurrentMemoryContext);
  List* sessions = make_sessions(shards, expression);
  const int n = list_length(sessions);
  auto* nodes = static_cast<Datum*>(palloc(sizeof(Datum) * (n + 1)));
  auto* ports = static_cast<Datum*>(palloc(sizeof(Datum) * (n + 1)));
  auto* commands = static_cast<Datum*>(palloc(sizeof(Datum) * (n + 1)));
  for (int i = 0; i < n; ++i) {
    const auto* session = static_cast<const Session*>(list_nth(sessions, i));
    nodes[i] = CStringGetTextDatum(session->node);
    ports[i] = Int32GetDatum(session->port);
    commands[i] = CStringGetTextDatum(session->command.data);
  }
  Oid types[] = {TEXTARRAYOID, INT4ARRAYOID, TEXTARRAYOID};
  Datum values[] = {
      PointerGetDatum(construct_array(nodes, n, TEXTOID, -1, false, TYPALIGN_INT)),
      PointerGetDatum(construct_array(ports, n, INT4OID, sizeof(int32), true, TYPALIGN_INT)),
      PointerGetDatum(construct_array(commands, n, TEXTOID, -1, false, TYPALIGN_INT))};
  List* results = NIL;
  if (n > 0) {
    execute(kResultsQuery, 3, types, values);
    results = read_results(relation, caller);
  }
  if (list_length(results) != list_length(shards))
    ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR),
                    errmsg("%d of %d shards of \"%s\" gave a result", list_length(results),
                           list_length(shards), RelationGetRelationName(relation)),
                    errhint("Fit again; the server logs of the nodes may say more.")));
  SPI_finish();
  settings.end();
  return results;
}

Counters counters_of(List* results) {
  Counters out;
  out.known = out.of_shards = true;
  out.leaf = static_cast<LeafCounters*>(palloc0(sizeof(LeafCounters) * (list_length(results) + 1)));
  for (const ShardResult* result : of_list<const ShardResult>(results)) {
    if (!result->counters.known) {
      out.known = false;
      out.why = "the nodes of its shards do not count them";
    }
    out.leaf[out.leaves++] = sum_of_leaves(static_cast<Oid>(result->shard), result->counters);
  }
  return out;
}

Counters shard_counters(Oid relation) {
  Relation rel = table_open(relation, AccessShareLock);
  List* results = run_on_shards(rel, nullptr);
  table_close(rel, NoLock);
  return counters_of(results);
}

}  // namespace kde_pg
