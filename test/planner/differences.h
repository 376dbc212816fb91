/* The differences of 19: planners are told what is explained, and scans have flags,
 * which are unsigned, as those of inserts. */
#if PG_VERSION_NUM >= 190000
#define EXPLAINED_PARAMETER , ExplainState *explained
#define EXPLAINED , explained
#define NO_SCAN_FLAGS , 0
typedef uint32 InsertOptions;
#else
#define EXPLAINED_PARAMETER
#define EXPLAINED
#define NO_SCAN_FLAGS
typedef int InsertOptions;
#endif
