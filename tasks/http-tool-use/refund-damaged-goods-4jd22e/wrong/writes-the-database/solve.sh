python3 -c 'import sqlite3; sqlite3.connect("/srv/desk/desk.db").execute("DELETE FROM notes")'
