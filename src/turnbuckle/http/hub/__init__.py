"""The second API beside the first, in the same process: its routes, its envelope, its credentials.

Start at app.py; routes.py and commands.py are the two tables that everything loops over.
"""

from turnbuckle.http.hub.app import Hub, takes

__all__ = ["Hub", "takes"]
