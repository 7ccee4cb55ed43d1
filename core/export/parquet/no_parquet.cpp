// Where no programs can be started, as in a page of a browser: data sets need one.
#include "core/export/formats.hpp"

namespace sluice::exports {

output_shape shape_of_parquet(const options& /*wanted*/) { return output_shape::data_set; }

result<void> write_parquet(job& /*what*/, output& /*to*/) {
  return fail(error_code::unavailable, "a page cannot write a data set", {}, "use `sluice export --format parquet`");
}

}  // namespace sluice::exports
