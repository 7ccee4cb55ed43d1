#pragma once

/// Functions whose frames differ in shape, compiled several times with different options: each calls what it is given, from
/// inside a few frames of its own.
namespace sluice::test {

using visit = void (*)(void* with);

struct shape {
  const char* name;
  void (*run)(visit call, void* with);
};

/// Ends with a null name. One table for each way of compiling.
extern "C" const shape* shapes_plain();        // -O2 without frame pointers
extern "C" const shape* shapes_framed();       // -O2 with frame pointers
extern "C" const shape* shapes_unoptimised();  // -O0
// In a library of its own: "shapes_library".

}  // namespace sluice::test
