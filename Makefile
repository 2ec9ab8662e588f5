# Everything is run from here; each target sets up what it needs in .venv and .cache.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
SAMPLES := tests/data/cubins
DEMO := $(addprefix $(SAMPLES)/,kernels.sm_75.exe.cubin cluster_sm90.sm_90.exe.cubin \
  spills.sm_90.regs32exe.cubin tcgen05_sm100a.sm_100a.exe.cubin)
WORKERS ?= auto
NATIVE := --manifest-path native/Cargo.toml

.PHONY: wheels test-compiled site test-browser check-pages notebook test-fingerprint-proof help venv demo test test-corpus gen check-gen check-ide check-languages check-imhex dist-languages samples corpus link-cases link-stored link-faults link-sweep link-real link-sweep-ptx newuser fuzz fuzz-small fuzz-quick bench bench-quick bench-growth lint types \
  bless clean

help: ## what can be made here
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Two stamps, so that the demo does not wait for what only the tests need. Dependency groups are
# read by pip 25.1 and later.
$(VENV)/.base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cubinspec needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'
	$(PY) -m pip install --quiet -e '.[scan,dask]' --group oracle --group test --group lint \
	  --group package
	@touch $@

# An old pip made a console script that imports `re`, which takes longer than a small link.
$(VENV)/.bench: $(VENV)/.dev
	$(PY) -m pip install --quiet --force-reinstall --no-deps -e .
	$(PY) -m pip install --quiet --group bench
	@touch $@

venv: $(VENV)/.dev ## .venv with everything the tests need

demo: $(VENV)/.base ## the kernel table and the byte coverage of carried samples
	$(VENV)/bin/cubinspec kernels $(DEMO)
	@echo
	$(VENV)/bin/cubinspec coverage --sum $(SAMPLES)/*.cubin

test: $(VENV)/.dev ## all tests that need no fetched corpus
	$(PY) -m pytest -n $(WORKERS) -m "not corpus and not browser"

test-compiled: $(VENV)/.dev ## the tests on a wheel with compiled modules, installed elsewhere (QUICK=1: those of what is compiled)
	$(PY) -m tools.package.compiled $(if $(QUICK),--quick) -n $(WORKERS)

wheels: $(VENV)/.dev ## the pure wheel and one with compiled modules for this Python and platform, into dist/
	$(PY) -m build --wheel --no-isolation --outdir dist
	CUBINSPEC_COMPILE=1 $(PY) -m build --wheel --no-isolation --outdir dist

test-browser: $(VENV)/.dev ## the pages of HTML in a headless Chromium, which has to be installed
	$(PY) -m pip install --quiet --group browser --group site
	$(PY) -m pytest -n $(WORKERS) -m browser tests/browser

site: $(VENV)/.dev ## the docs as a site that works from a disk, into site/ (needs node)
	$(PY) -m pip install --quiet --group site
	$(PY) -m tools.site

check-pages: $(VENV)/.dev ## pages in a browser and the notebook; says what of it this machine cannot run
	@if for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v $$name && break; done >/dev/null; then \
	  $(MAKE) --no-print-directory test-browser; \
	else \
	  echo "SKIPPED test-browser: no Chromium is on this machine"; \
	fi
	$(PY) -m pip install --quiet --group notebook
	$(PY) -m pytest -rs tests/unit/test_notebook.py

notebook: $(VENV)/.dev ## run the cells of docs/notebook.ipynb and write it
	$(PY) -m pip install --quiet --group notebook
	$(PY) -m tools.notebook
	$(PY) -m pytest tests/unit/test_notebook.py

test-fingerprint-proof: $(VENV)/.dev ## fingerprints of all samples, rebuilt elsewhere and with each number changed (EVERY=9: one of so many, JOBS=4, PAGE=1)
	$(PY) -m tools.corpus.fingerprints $(if $(EVERY),--every $(EVERY)) $(if $(JOBS),--jobs $(JOBS)) \
	  $(if $(PAGE),--page)

test-corpus: $(VENV)/.dev ## the tests on the fetched corpus (make corpus first)
	$(PY) -m pytest -n $(WORKERS) -m corpus

gen: $(VENV)/.dev ## write generated/ and ksy/cuda_codes.ksy from the spec (needs node)
	$(PY) -m tools.gen

check-gen: $(VENV)/.dev ## fail when `make gen` would change anything (needs node)
	@if command -v node >/dev/null && command -v npm >/dev/null; then \
	  $(PY) -m tools.gen --check; \
	else \
	  echo "SKIPPED check-gen: node and npm are not on this machine"; \
	fi

check-ide: $(VENV)/.dev ## open files in the Kaitai Web IDE (WEBIDE=its built folder), else as it does (needs node)
	$(if $(WEBIDE),$(PY) -m pip install --quiet --group browser)
	WEBIDE=$(WEBIDE) SHOT=$(SHOT) $(PY) -m tools.gen.ide
	$(PY) -m pytest tests/unit/test_ksy_targets.py -k ide

check-languages: $(VENV)/.dev ## run the readers in other languages on the samples (RUNTIMES=folder: more of them)
	RUNTIMES=$(RUNTIMES) $(PY) -m tools.gen.languages $(if $(PAGE),--page)
	RUNTIMES=$(RUNTIMES) $(PY) -m tools.site.snippets

check-imhex: $(VENV)/.dev ## run the patterns of ImHex on the samples (PLCLI=tool INCLUDES=folder)
	PLCLI=$(PLCLI) INCLUDES=$(INCLUDES) $(PY) -m tools.gen.native.imhex

dist-languages: $(VENV)/.dev ## one archive per language, and one of the specs, in dist/ (needs node)
	$(PY) -m tools.gen.packages.dist

samples: $(VENV)/.dev ## rebuild tests/data/cubins and compare with samples.yaml (BLESS=1: take over)
	$(PY) -m tools.corpus.samples $(if $(BLESS),--bless)

corpus: $(VENV)/.dev ## fetch the development wheels and extract their cubins into .cache/corpus
	$(PY) -m tools.corpus.fetch

link-cases: $(VENV)/.dev ## every link case against nvlink, all targets (ARCH=80,90: only these)
	$(PY) -m tools.linkcases $(if $(ARCH),--arch $(ARCH))

link-sweep: $(VENV)/.dev ## every attribute code and section name as synthetic input against nvlink (ARCH=80,90: only these)
	$(PY) -m tools.linkcases.sweep $(if $(ARCH),--arch $(ARCH))

link-crossed: link-cases ## every link case in 36 variants of options and order, against nvlink; a quarter of an hour (ARCH=80,90: only these)
	$(PY) -m tools.linkcases.crossed $(if $(ARCH),--arch $(ARCH)) --page

link-stored: $(VENV)/.dev ## the same from stored inputs and hashes: no tool of NVIDIA runs
	$(PY) -m tools.linkcases --stored $(if $(ARCH),--arch $(ARCH))

link-faults: $(VENV)/.dev ## plant a fault in the code of every rule of nvlink; a stored link must see each (RULE=W7,S2: only these)
	$(PY) -m tools.linkcases.faults $(if $(RULE),--rule $(RULE))

link-real: $(VENV)/.dev ## compile real programs with nvcc, link them with nvlink and here (ARCH=80,90a: only these)
	$(PY) -m tools.linkcases.programs $(if $(ARCH),--arch $(ARCH))

link-sweep-ptx: $(VENV)/.dev ## every form of PTX in eight places, linked by nvlink and here (ARCH=80,90a: only these)
	$(PY) -m tools.linkcases.ptxsweep $(if $(ARCH),--arch $(ARCH),--page)

newuser: $(VENV)/.dev ## build the package, install it elsewhere, try README and public wheels (CI=1: few)
	$(PY) -m tools.newuser $(if $(CI),--ci) $(PYTHONS:%=--python %)

$(VENV)/.fuzz: $(VENV)/.dev
	$(PY) -m pip install --quiet --group fuzz
	@touch $@

fuzz: $(VENV)/.fuzz ## damage files for hours, half of them guided by coverage (HOURS=8), and count them
	$(PY) -m tools.fuzz --hours $(or $(HOURS),1) --seed $$(date +%s) --guided --count; \
	  status=$$?; $(PY) -m tools.fuzz --page; exit $$status

fuzz-small: $(VENV)/.fuzz ## of the kept corpora the fewest files that reach the same branches
	$(PY) -m tools.fuzz --minimise

fuzz-quick: $(VENV)/.dev ## hostile files, growth of the work, two minutes of the same mutants each time
	$(PY) -m pytest -n $(WORKERS) tests/hostile
	$(PY) -m tools.fuzz --minutes 2

bench: $(VENV)/.bench ## measure pure and compiled against the peers and write docs/performance.md
	$(PY) -m tools.package.compiled --no-tests
	$(PY) -m tools.bench

bench-quick: $(VENV)/.bench ## some rounds of all but large inputs, in three minutes; prints the page and leaves the file
	$(PY) -m tools.bench --quick --seconds 1

lint: $(VENV)/.dev ## ruff: rules and format; numbers of the spec stand by name
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(PY) -m tools.lint
	@if { cargo fmt --version && cargo clippy --version && cargo fetch --locked $(NATIVE); } >/dev/null 2>&1; \
	then cargo fmt --check $(NATIVE) && cargo clippy --quiet --offline $(NATIVE) -- -D warnings; \
	else echo "no cargo, or no crates for it: native/ is not linted"; fi

types: $(VENV)/.dev ## mypy --strict
	$(VENV)/bin/mypy

bench-growth: $(VENV)/.bench ## measure how cost grows with size, and scans on several workers; write docs/growth.md
	$(PY) -m tools.bench.machines
	$(PY) -m tools.bench.curves

bless: $(VENV)/.dev ## rewrite the golden outputs; review the difference before committing
	BLESS=1 $(PY) -m pytest tests/golden tests/unit/test_readme.py tests/unit/test_stability.py \
	  tests/unit/test_sarif.py

clean: ## remove .venv, caches and build outputs, not the fetched .cache
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
