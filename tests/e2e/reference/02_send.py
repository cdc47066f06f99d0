import asyncio
import os


from lbb import AsyncLbbClient




def connect() -> AsyncLbbClient:
    return AsyncLbbClient(
        os.environ.get("LBB_URL", "http://127.0.0.1:7400"),
        api_key=os.environ.get("LBB_API_KEY"),
        graph="main",
    )




async def send() -> None:
    async with connect() as client:
        handle = await counter.start(client, "counter-1")
        await handle.send({"add": 2}, id="request-1")




asyncio.run(send())
