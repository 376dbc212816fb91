// The models in full are written by who fits: core/fit, core/joint, pg/fit. From a phrase below on
// one is cut off, as what follows is how well it did; whether every row was read stands beside it.
#include "pg/catalog/short_model.h"

namespace kde_pg {

namespace {

struct Phrase {
  const char* in_full;
  const char* in_short;
};
constexpr Phrase kPhrases[] = {
    {"the plug-in bandwidth", "plug-in"},
    {"; every row", ""},
    {"the sample itself", "the sample"},
    {", each with its own count", ""},
    {" of each column", ""},
    {"; another has", ""},
    {" of them read whole", " read whole"},
    {", and ", ""},
};

}  // namespace

const char* short_model(const char* model) {
  for (const Phrase& phrase : kPhrases)
    if (const char* at = strstr(model, phrase.in_full))
      return psprintf("%.*s%s", static_cast<int>(at - model), model, phrase.in_short);
  return pstrdup(model);
}

}  // namespace kde_pg
