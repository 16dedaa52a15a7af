# make setup  set up and build, without tests
# make demo   record a real PyTorch program and show where its time went
# make test   set up and run the tests
# make unit   the inner loop: FOLDER=analyze T=Overlap builds and runs the tests of one folder
# make check  the slower checks: layers, sizes, format, lint, packages, sanitizers, fuzzers, kills
# make soak   what takes hours, all of it or STAGE=kills; results go to docs/soak.md
# make bench  measure speed against peers
# make validate  check corrected times against unrecorded runs; the table of docs/validation.md
.PHONY: setup setup-tests demo test unit check soak bench validate format clean

VENV := .venv/bin
RUN := build/demo
export PYTHONPATH := $(CURDIR)/build/release/python

setup:
	@tools/setup.sh

setup-tests:
	@tools/setup.sh tests

demo:
	@tools/setup.sh demo
	@rm -rf $(RUN)
	@build/release/python/crosscut/bin/crosscut record -o $(RUN) -- \
	  $(VENV)/python examples/train.py --augment
	@build/release/python/crosscut/bin/crosscut report $(RUN)
	@build/release/python/crosscut/bin/crosscut report $(RUN) --format=html -o $(RUN)/report.html
	@echo "The same as a page, with a timeline: $(RUN)/report.html"

test: setup-tests
	@tools/run_tests.sh

unit:
	@tools/unit "$(FOLDER)" "$(T)"

check:
	@tools/setup.sh tests checks
	@tools/run_checks.sh

soak:
	@tools/setup.sh tests checks
	@$(VENV)/python tools/soak.py $(STAGE)

bench:
	@tools/setup.sh tests bench
	@$(VENV)/python bench/run.py

validate: setup-tests
	@$(VENV)/python bench/validate.py --write docs/validation.md

format:
	@git ls-files '*.cc' '*.h' '*.c' | grep -v page_bundle | xargs clang-format-14 -i

clean:
	rm -rf build
