# Language, warnings, sanitizers and speed-ups of the build itself.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1")

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${SLUICE_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${SLUICE_CCACHE}")
endif()

find_program(SLUICE_LLD ld.lld)
if(EMSCRIPTEN)
  # Exceptions are those of JavaScript: the wasm ones of this compiler are not in its libraries. Threads need a page that is isolated.
  add_compile_options(-fexceptions -pthread)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${CMAKE_SOURCE_DIR}/cmake/web/library_shim.hpp>")
  add_link_options(-fexceptions -pthread)
elseif(SLUICE_LLD)
  add_link_options(-fuse-ld=lld)
  # Link option: functions that run at each event (SLUICE_HOT) lie side by side. GNU ld does so anyway.
  set(SLUICE_HOT_TOGETHER -Wl,-z,keep-text-section-prefix)
endif()

# Everything of ours links to this; third-party code never does.
add_library(sluice_options INTERFACE)
target_compile_features(sluice_options INTERFACE cxx_std_20)
# Of files that are compiled together one's helper may have the name of another's variable, and GCC takes them all for headers: `./dev lint`
# looks at each file by itself.
set(together "$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>")
set(gcc_together "$<AND:${together},$<CXX_COMPILER_ID:GNU>>")
target_compile_options(sluice_options INTERFACE -Wall -Wextra -Wpedantic "$<$<NOT:${together}>:-Wshadow>" -Wconversion -Werror
                                                "$<${gcc_together}:-Wshadow=local>" "$<${gcc_together}:-Wno-subobject-linkage>")
if(EMSCRIPTEN)
  # Sizes are of 32 bits there. What is read from files is compared with its limit as 64 bits, before it becomes a size.
  target_compile_options(sluice_options INTERFACE -Wno-shorten-64-to-32 -Wno-unused-private-field)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms about std::string in optimised builds: GCC bug 105651.
  target_compile_options(sluice_options INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # Blank objects of up to 256 bytes are filled by vector stores: GCC fills those of 80 and more with "rep stos", which takes some 40 cycles
  # to begin, more than all else that a function does with one event.
  target_compile_options(sluice_options INTERFACE -mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler collects its garbage from 700 MB on, not from 128: a twentieth of the time for a tenth of the memory.
  target_compile_options(sluice_options INTERFACE --param=ggc-min-heapsize=700000)
endif()
target_include_directories(sluice_options INTERFACE "${CMAKE_SOURCE_DIR}")

if(NOT SLUICE_SANITIZE STREQUAL "")
  # The standard library checks indices, and front() of an empty container: the sanitizers miss most of these.
  target_compile_definitions(sluice_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(SLUICE_SANITIZE STREQUAL "address")
  target_compile_options(sluice_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                                  -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(SLUICE_SANITIZE STREQUAL "thread")
  target_compile_options(sluice_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  # GCC warns that fences are invisible to the sanitizer; the rings do not rest on them alone.
  target_compile_options(sluice_options INTERFACE -Wno-tsan)
  add_link_options(-fsanitize=thread)
elseif(SLUICE_SANITIZE STREQUAL "fuzzer")
  # Clang only; its warnings are not the ones that we build with. Left out is what the address sanitizer finds as well (null pointers, sizes
  # of objects) and what casts of polymorphic types would need: these three take a quarter of the time to compile.
  target_compile_options(sluice_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=null,object-size,vptr
                                                  -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-error)
  add_link_options(-fsanitize=address,undefined)
elseif(NOT SLUICE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "SLUICE_SANITIZE is '${SLUICE_SANITIZE}': expected empty, address, thread or fuzzer")
endif()
