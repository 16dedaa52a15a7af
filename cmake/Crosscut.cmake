# How every target of this project is built. One library per folder under src/.

include(GNUInstallDirs)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")
# For the sanitizers: lines in their stacks, at half the time that -O2 -g takes to compile.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")

option(CROSSCUT_WERROR "Warnings are errors: for those who work on Crosscut" OFF)
# Frame pointers cost nothing measurable here and make every stack walkable.
add_compile_options(-Wall -Wextra $<$<BOOL:${CROSSCUT_WERROR}>:-Werror> -fno-omit-frame-pointer
  -fstack-protector-strong)
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
if(CROSSCUT_SANITIZE)
  add_compile_options(-fsanitize=${CROSSCUT_SANITIZE} -fno-sanitize-recover=all)
  if(CROSSCUT_SANITIZE MATCHES undefined)
    # The check of virtual tables needs RTTI, which the recording half is built without.
    add_compile_options(-fno-sanitize=vptr)
  endif()
  add_link_options(-fsanitize=${CROSSCUT_SANITIZE})
endif()
option(CROSSCUT_STATIC "Link libraries statically, but those of the C and C++ compilers: for wheels"
  OFF)
if(CROSSCUT_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  # Hidden: other copies in the process stay what they are.
  add_link_options(LINKER:--exclude-libs,libzstd.a:libz.a:libisal.a:libsimdjson.a)
  # Functions that nobody calls are left out.
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(LINKER:--gc-sections)
endif()
find_program(CCACHE ccache)
if(CCACHE)
  # Independent of where the checkout lies, so that a new clone builds from the old one's cache.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd>=1.5)

# The development package: a folder that can stand on PYTHONPATH, laid out as the wheel lays it out
# (crosscut/, crosscut/lib, crosscut/bin, crosscut/inject).
set(CROSSCUT_PACKAGE_DIR ${CMAKE_BINARY_DIR}/python/crosscut)

add_library(crosscut_headers INTERFACE)
target_include_directories(crosscut_headers INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)

# crosscut_folder(name SOURCES ... DEPS ... [RECORDING]): the static library of one folder of src/.
# RECORDING: runs inside the user's process, so built without exceptions and RTTI.
function(crosscut_folder name)
  cmake_parse_arguments(ARG "RECORDING" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC crosscut_headers ${ARG_DEPS})
    if(ARG_RECORDING)
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
      if(CROSSCUT_FAULT_POINTS)
        target_compile_definitions(${name} PUBLIC CROSSCUT_FAULT_POINTS=1)
      endif()
      if(CROSSCUT_PREEMPT)  # before all others, so that std::atomic's own operations are points
        target_compile_definitions(${name} PUBLIC CROSSCUT_PREEMPT_POINTS=1)
        target_compile_options(${name} PRIVATE -include ${PROJECT_SOURCE_DIR}/src/base/preempt.h)
      endif()
    endif()
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE crosscut_headers ${ARG_DEPS})
  endif()
endfunction()

# crosscut_test(name SOURCES ... DEPS ... [THREADS] [PLACES]): one GoogleTest binary per folder, run
# by ctest as one test with the label "unit"; THREADS: what it tests has threads, so with the label
# "threads", too. PLACES: it knows CROSSCUT_SOURCE_DIR and CROSSCUT_BINARY_DIR; other tests do not, so
# that ccache has them for every copy of the tree. The targets unit_tests and threads_tests build all
# that these tests need.
if(CROSSCUT_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  add_custom_target(unit_tests)
  add_custom_target(threads_tests)
endif()
function(crosscut_test name)
  cmake_parse_arguments(ARG "THREADS;PLACES" "" "SOURCES;DEPS" ${ARGN})
  if(NOT CROSSCUT_TESTS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  # What is tested is built as it is shipped.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Release>:-g0>)
  if(ARG_PLACES)
    target_compile_definitions(${name} PRIVATE
      CROSSCUT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" CROSSCUT_BINARY_DIR="${CMAKE_BINARY_DIR}")
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set(labels unit)
  add_dependencies(unit_tests ${name})
  if(ARG_THREADS)
    list(APPEND labels threads)
    add_dependencies(threads_tests ${name})
  endif()
  # ThreadSanitizer makes every process sleep for a second when it ends; the tests end thousands.
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 900
    ENVIRONMENT "TSAN_OPTIONS=atexit_sleep_ms=0 die_after_fork=0")
endfunction()
