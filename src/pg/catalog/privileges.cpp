// The checks of privileges.h: PostgreSQL's own, of the present user.
#include "pg/catalog/privileges.h"

extern "C" {
#include "catalog/objectaddress.h"
#include "utils/acl.h"
#include "utils/rls.h"
}

namespace kde_pg {

namespace {

bool applies_row_security(Oid relation) {
  return check_enable_rls(relation, InvalidOid, true) == RLS_ENABLED;
}

void check_no_row_security(Oid relation) {
  if (applies_row_security(relation))
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("row-level security of table \"%s\" applies to the current user",
                           get_rel_name(relation)),
                    errdetail("A density describes all rows of the table."),
                    errhint("kde_sample() makes one of the rows that you may read.")));
}

// *missing, which is false before: whether table or column no longer exist; null: that is an error.
bool has_select(TableColumn column, bool* missing) {
  const Oid user = GetUserId();
  return pg_class_aclcheck_ext(column.relation, user, ACL_SELECT, missing) == ACLCHECK_OK ||
         pg_attribute_aclcheck_ext(column.relation, column.attnum, user, ACL_SELECT, missing) ==
             ACLCHECK_OK;
}

}  // namespace

bool check_selectable(TableColumn column) {
  if (!has_select(column, nullptr))
    aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(column.relation)),
                   get_rel_name(column.relation));
  return applies_row_security(column.relation);
}

void check_readable(TableColumn column) {
  (void)check_selectable(column);
  check_no_row_security(column.relation);
}

void check_readable(const DensityKey& key) {
  const Bitmapset* columns = columns_read_by(key);
  for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
    check_readable(TableColumn{key.relation, static_cast<AttrNumber>(i)});
}

// A snapshot may show a density of a table that somebody has dropped meanwhile.
bool is_readable(TableColumn column) {
  bool missing = false;
  return has_select(column, &missing) && !applies_row_security(column.relation);
}

bool is_readable(const DensityKey& key) {
  const Bitmapset* columns = columns_read_by(key);
  for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
    if (!is_readable(TableColumn{key.relation, static_cast<AttrNumber>(i)})) return false;
  return get_rel_name(key.relation) != nullptr;
}

bool is_readable(Oid relation) {
  bool missing = false;
  return pg_class_aclcheck_ext(relation, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK &&
         !missing && !applies_row_security(relation);
}

bool is_owner(Oid relation) {
#if PG_VERSION_NUM >= 160000
  return object_ownercheck(RelationRelationId, relation, GetUserId());
#else
  return pg_class_ownercheck(relation, GetUserId());
#endif
}

void check_owner(Oid relation) {
  if (!is_owner(relation))
    aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)),
                   get_rel_name(relation));
  check_no_row_security(relation);
}

bool may_maintain(Oid relation) {
#if PG_VERSION_NUM >= 170000
  // The members of pg_maintain have it on every table.
  if (pg_class_aclcheck(relation, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK) return true;
#endif
  return is_owner(relation);
}

void check_may_maintain(Oid relation) {
  if (!may_maintain(relation))
    aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)),
                   get_rel_name(relation));
  check_no_row_security(relation);
}

}  // namespace kde_pg
