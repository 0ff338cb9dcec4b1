"""Self-contained HTML pages of results (with plotly and jinja2, from the extra `report`)."""
