# Two commands do everything on a fresh machine that has Python 3.11 or newer:
#   make book    set up .venv, run every cell, build the site
#   make test    the same set-up, then every check
# A second call installs nothing. The plain pip equivalents are in the README.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv installs in seconds what takes pip a minute, but does not read pip's settings of mirrors.
INSTALLER ?= pip
INSTALL_pip := $(BIN)/python -m pip install --no-compile --disable-pip-version-check
INSTALL_uv := $(BIN)/uv pip install --python $(BIN)/python
INSTALLED := $(VENV)/.installed
SITE := book/_build/html
# Plain Sphinx, every warning an error; `jupyter-book build book/` gives the same site.
SPHINX_BUILD := $(BIN)/sphinx-build -W --keep-going -b html -d book/_build/.doctrees book $(SITE)
# The Transformers that ours is measured beside; d2l without the old versions that it asks for.
PEERS := .venv-peers
D2L := d2l==1.0.3
# Tests run in two processes: each file in one, or, where files are few and long, each test.
# (Beside the book the unit tests need one alone, for each process collects them all.)
# What took longest is told at the end: the first place to look when they get slow.
UNIT_PROCESSES ?= 2
SLOWEST := --durations 30 --durations-min 1
SIDE_BY_SIDE := -n $(UNIT_PROCESSES) --dist loadfile $(SLOWEST)
TEST_BY_TEST := -n 2 --dist worksteal $(SLOWEST)
# One thread for each: two on the same core only wait for each other.
export OMP_NUM_THREADS := 1

.PHONY: help book test lint types unit site zip pdf epub slides cards downloads notebooks audit bench peers robustness bugs attacks lock clean
.DEFAULT_GOAL := help

help:
	@echo "make book       set up, run every cell, build the site (BOOK_CHAPTERS='masks scoring' for"
	@echo "                some chapters: references to the others become words)"
	@echo "make test       set up, then lint, types, unit tests, doctests, the built site's tests"
	@echo "make zip        the site as one archive that opens by double click, without a network"
	@echo "make pdf        the book as a PDF in each language (needs chromium; some minutes)"
	@echo "make epub       the book as an EPUB in each language, judged by epubcheck (needs java)"
	@echo "make slides     a deck of slides of each chapter in each language, linked from the chapters"
	@echo "make cards      the questions as decks for Anki: Chinese, English, both on one card"
	@echo "make notebooks  the book, then its one-language notebooks in notebooks/, as Binder has them"
	@echo "make audit      axe-core and Lighthouse on the built site (needs node and chromium)"
	@echo "make bench      time our attention beside torch's, and the building of the book"
	@echo "make peers      the Transformer beside those of torch.nn, d2l, transformers, x-transformers"
	@echo "                (installs these beside .venv; ten minutes; WITH='--threads 2' for two)"
	@echo "make robustness run the chapters with ten other seeds and every set of kernels (an hour; can"
	@echo "                be stopped and goes on: CHAPTERS='masks scoring' for some, RUNS=avx2 for one)"
	@echo "make bugs       plant known bugs, one at a time, in a copy: which test catches each? (a"
	@echo "                quarter of an hour; BUGS='masks greedy' for some files or names)"
	@echo "make attacks    what a hostile notebook may try while it is graded (some minutes)"
	@echo "make lock       write constraints.txt and constraints-next.txt (UPGRADE=1: newest versions)"
	@echo "make clean      remove what the build made"

# NEXT=1 takes the Sphinx of tomorrow; uv alone installs it, for Jupyter Book 1 asks for Sphinx 7.
ifdef NEXT
INSTALLER := uv
CONSTRAINTS := constraints-next.txt
INSTALL_uv += --override constraints-next.txt
else
CONSTRAINTS := constraints.txt
endif

$(INSTALLED): $(CONSTRAINTS) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("attention_book needs Python 3.11 or newer; " + sys.executable + " is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(if $(filter uv,$(INSTALLER)),$(INSTALL_pip) -c constraints.txt uv)
	$(or $(INSTALL_$(INSTALLER)),$(error INSTALLER: expected pip or uv, got $(INSTALLER))) -c $(CONSTRAINTS) -e ".[book,test]"
	@# pip compiles on one core, this on all of them; what can't be compiled is never imported.
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || true
	@touch $@

book: $(INSTALLED)
	@$(YIELDING) $(SPHINX_BUILD)
	@echo "Open $(CURDIR)/$(SITE)/index.html"

# With --jobs these take what the tests and the book leave.
lint: $(INSTALLED)
	nice -n 19 $(BIN)/ruff check .
	nice -n 19 $(BIN)/ruff format --check .
	nice -n 19 $(BIN)/python scripts/sync_addresses.py --check

types: $(INSTALLED)
	nice -n 19 $(BIN)/mypy

# The laws, the doctests of the package and of the chapters, the architecture, the extensions.
unit: $(INSTALLED)
	BOOK_SKIPPED=$(VENV)/.skipped-unit $(BIN)/pytest $(SIDE_BY_SIDE) --ignore=tests/site

# What a reader gets: links, languages, search, accessibility, in a browser where there is one.
site: book
	BOOK_SKIPPED=$(VENV)/.skipped-site $(BIN)/pytest $(TEST_BY_TEST) tests/site

test: lint types unit site
	@cat $(VENV)/.skipped-unit $(VENV)/.skipped-site
# With --jobs the unit tests go first, and the book takes what they leave. Where they keep one
# core busy, lint and types wait for the other: the end of the build leaves it free.
ifeq ($(MAKECMDGOALS),test)
book: YIELDING := nice
ifeq ($(UNIT_PROCESSES),1)
lint types: | unit
endif
endif

# The book to take along.
zip: book
	$(BIN)/python scripts/pack_site.py

pdf: book
	$(BIN)/python scripts/pdf/make_pdf.py

# Judged where it can be: the judge is a program in Java.
epub: book
	$(BIN)/python scripts/epub/make_epub.py $(if $(shell command -v java),--check)

# Made of the built site and put into it; then the chapters link what is there.
slides: book
	$(BIN)/python scripts/slides/make_slides.py
	$(SPHINX_BUILD)

# The questions as packages that Anki imports, on a telephone as well.
cards: book
	$(BIN)/python scripts/pack_cards.py

# The site as it is published: the same, with these files and the links to them.
downloads: slides zip pdf epub cards
	BOOK_DOWNLOADS=$(CURDIR)/book/_build $(SPHINX_BUILD)
	$(BIN)/pytest tests/site/test_links.py tests/site/test_downloads.py
# The archive has the slides, too.
ifeq ($(MAKECMDGOALS),downloads)
zip: slides
endif

# The branch `notebooks` holds this folder beside everything else; Colab and Binder open it there.
notebooks: book
	rm -rf notebooks
	cp -r $(SITE)/_notebooks notebooks

audit: book
	@command -v node >/dev/null || { echo "make audit needs Node.js 20 or newer (node, npm)"; exit 1; }
	npm ci --prefix audit --ignore-scripts --no-audit --no-fund --silent
	node audit/run.mjs

bench: $(INSTALLED)
	$(BIN)/python benchmarks/attention.py
	$(BIN)/python benchmarks/book.py

$(PEERS)/.installed: benchmarks/peers/requirements.txt constraints.txt pyproject.toml
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --disable-pip-version-check -c constraints.txt -e . -r $<
	$(PEERS)/bin/python -m pip install --disable-pip-version-check --no-deps $(D2L)
	@touch $@

peers: $(PEERS)/.installed
	PYTHONPATH=benchmarks $(PEERS)/bin/python -m peers $(WITH)

robustness: $(INSTALLED)
	$(BIN)/python scripts/robustness.py $(CHAPTERS) $(if $(RUNS),--runs $(RUNS))

# The versions of everything, for every Python: constraints.txt, and the same with the Sphinx of
# tomorrow, which Jupyter Book 1 does not ask for and which the book builds with all the same.
LOCK := $(BIN)/uv pip compile - pyproject.toml --all-extras --universal --no-annotate -q \
	--custom-compile-command "make lock"
NEWEST := $(addprefix --upgrade-package ,docutils sphinx-book-theme pydata-sphinx-theme)
lock: $(INSTALLED)
	$(INSTALL_pip) -q -c constraints.txt uv
	echo uv | $(LOCK) $(if $(UPGRADE),--upgrade) -o constraints.txt
	printf 'sphinx>=9,<10\nmyst-parser>=5,<6\n' > $(VENV)/next.txt
	cp constraints.txt constraints-next.txt
	echo uv | $(LOCK) --override $(VENV)/next.txt $(NEWEST) -o constraints-next.txt

# What a hostile notebook may try, by each way to confine it (Linux; Bubblewrap where it is there).
attacks: $(INSTALLED)
	for way in fork fresh $$(command -v bwrap >/dev/null && echo bwrap); do \
	  WAY=$$way ATTACKS=all ANSWERS=all $(BIN)/pytest -q tests/course/grading || exit 1; done

bugs: $(INSTALLED)
	$(BIN)/python scripts/plant_bugs.py $(or $(BUGS),--write benchmarks/planted-bugs.md)

clean:
	rm -rf book/_build
