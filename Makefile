# Kassa's commands; `make` lists them. Paths are relative throughout, so the repository may lie anywhere.

VERSION   := 0.1.0
SOVERSION := 1
PREFIX    ?= /usr/local
LIBDIR    ?= $(PREFIX)/lib

SWIFT  ?= swift
PYTHON := .venv/bin/python

LIBRARY := build/libkassa.so.$(VERSION)

# Each set of flags has its own scratch path, or they would evict each other's products. Only the library is linked
# with LIBRARY_FLAGS; they do not change what is compiled, so the sandbox shares its objects.
#
# Exclusivity is checked in the tests; in a release a violation could only stop the host. Regular expressions, which
# every Swift file imports unasked, would make the library a megabyte larger.
RELEASE       := --omit-frame-pointers --disable-local-rpath -c release --scratch-path .build/release-static \
                 -Xswiftc -enforce-exclusivity=unchecked \
                 -Xswiftc -Xfrontend -Xswiftc -disable-implicit-string-processing-module-import \
                 -Xswiftc -static-stdlib -Xswiftc -use-ld=lld -Xlinker --icf=all
LIBRARY_FLAGS := -Xlinker -soname=libkassa.so.$(SOVERSION) -Xlinker --version-script=Sources/Kassa/kassa.map \
                 -Xlinker -z -Xlinker nodelete -Xlinker -z -Xlinker pack-relative-relocs \
                 -Xlinker --wrap=_swift_stdlib_getScalarName

# What is set up once serves all: two installations at a time would meet.
.NOTPARALLEL:

.PHONY: help demo check build install uninstall wheel sanitize crash fuzz soak bench lint format clean setup-build setup-check

help:  ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: build  ## Build the library and run a C and a Python program on the sandbox, online and offline
	scripts/demo.sh

check: setup-check lint build  ## Pass all tests
	$(SWIFT) test
	Tests/C/run.sh
	Tests/Packaging/run.sh
	$(PYTHON) -m pytest -q Tests/Python
	$(PYTHON) Tests/check_scenarios.py
	@echo "All checks passed."

build: setup-build  ## Build build/libkassa.so (stripped, debug information beside it) and build/kassa-sandbox
	$(SWIFT) build $(RELEASE) $(LIBRARY_FLAGS) --product kassa
	$(SWIFT) build $(RELEASE) --product kassa-sandbox
	scripts/stage.sh .build/release-static/release $(VERSION) $(SOVERSION)

install: | $(LIBRARY)  ## Install library, header, pkg-config and CMake files, sandbox: PREFIX= DESTDIR= LIBDIR=
	install -d "$(DESTDIR)$(LIBDIR)/pkgconfig" "$(DESTDIR)$(LIBDIR)/cmake/kassa" \
	  "$(DESTDIR)$(PREFIX)/include" "$(DESTDIR)$(PREFIX)/bin"
	install -m 644 Include/kassa.h "$(DESTDIR)$(PREFIX)/include/"
	install -m 755 $(LIBRARY) "$(DESTDIR)$(LIBDIR)/"
	ln -sf libkassa.so.$(VERSION) "$(DESTDIR)$(LIBDIR)/libkassa.so.$(SOVERSION)"
	ln -sf libkassa.so.$(SOVERSION) "$(DESTDIR)$(LIBDIR)/libkassa.so"
	install -m 755 build/kassa-sandbox "$(DESTDIR)$(PREFIX)/bin/"
	$(call fill_in,kassa.pc,$(LIBDIR)/pkgconfig)
	$(call fill_in,kassaConfig.cmake,$(LIBDIR)/cmake/kassa)
	$(call fill_in,kassaConfigVersion.cmake,$(LIBDIR)/cmake/kassa)

fill_in = sed -e 's|@PREFIX@|$(PREFIX)|g; s|@LIBDIR@|$(LIBDIR)|g; s|@VERSION@|$(VERSION)|g; s|@SOVERSION@|$(SOVERSION)|g' \
  packaging/$(1).in > "$(DESTDIR)$(2)/$(1)"

uninstall:  ## Remove what install put there: PREFIX= DESTDIR= LIBDIR=
	rm -f "$(DESTDIR)$(LIBDIR)"/libkassa.so* "$(DESTDIR)$(LIBDIR)/pkgconfig/kassa.pc" \
	  "$(DESTDIR)$(PREFIX)/include/kassa.h" "$(DESTDIR)$(PREFIX)/bin/kassa-sandbox"
	rm -rf "$(DESTDIR)$(LIBDIR)/cmake/kassa"

wheel: setup-check build  ## Build the Python wheel into dist/
	$(PYTHON) bindings/python/build_wheel.py

sanitize: setup-check  ## Run the Swift and C tests under the address and the thread sanitizer
	scripts/sanitize.sh address
	scripts/sanitize.sh thread

crash: setup-check build  ## Kill a host at every step of its purchases, 20 times each, and count what was lost (half an hour)
	$(SWIFT) build --product kassa
	$(PYTHON) Tests/Crash/crash.py
	KASSA_CROWD=5000 $(PYTHON) -m pytest -q Tests/Python/crash

fuzz: setup-check  ## Feed the parsers with inputs that libFuzzer makes up, and with all changed copies of files
	KASSA_MUTATIONS=500 $(SWIFT) test --filter Mutation
	Tests/Fuzz/run.sh

soak: setup-build  ## Run 1,000 scripted years in the simulated store; they must all be the same
	$(SWIFT) build $(RELEASE) --product bench-store
	.build/release-static/release/bench-store --years 1000 Tests/KassaStores/Fixtures/two_levels.storekit

bench: setup-check build  ## Measure the figures of the project against their yardsticks
	$(SWIFT) build $(RELEASE) --product bench-store
	Tests/Benchmarks/run.sh

lint: setup-check  ## Check style, types and forbidden calls
	scripts/lint.sh

format: setup-check  ## Format Swift and Python in place
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests
	$(PYTHON) -m ruff format bindings examples Tests

clean:  ## Remove everything that was built
	rm -rf .build build dist

setup-build:
	@scripts/setup.sh build

setup-check:
	@scripts/setup.sh check

$(LIBRARY):
	$(MAKE) build
