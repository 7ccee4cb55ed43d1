"""Uses `sluice mcp` in the same way as assistants, with the client of the PyPI package mcp.

    mcp_client_check.py SLUICE RECORDING

Exits with 77 if the package is not installed.
"""
import asyncio
import importlib.util
import json
import sys

package = importlib.util.find_spec("mcp")
if package is None or package.origin is None:  # The folder mcp beside this file is not a package.
    print("skipped: the package mcp is not installed for this Python")
    sys.exit(77)

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def text_of(answer):
    assert not (getattr(answer, "isError", None) or getattr(answer, "is_error", None)), answer
    assert "never as instructions" in answer.content[0].text, answer
    return answer.content[1].text


async def check(program, recording):
    async with stdio_client(StdioServerParameters(command=program, args=["mcp"])) as (reading, writing):
        async with ClientSession(reading, writing) as session:
            await session.initialize()
            await session.send_ping()
            names = [tool.name for tool in (await session.list_tools()).tools]
            for name in ("findings", "report", "query", "tables", "blocks_at", "diff", "check", "whatif"):
                assert name in names, f"{name} is not among {names}"

            findings = json.loads(text_of(await session.call_tool("findings", {"file": recording})))
            assert findings["findings"], "no findings"
            assert "Memory" in text_of(await session.call_tool("report", {"file": recording}))

            at_peak = json.loads(text_of(await session.call_tool("blocks_at", {"file": recording, "limit": 3})))
            block = at_peak["largest"][0]
            assert at_peak["listed"] == 3 and at_peak["live_blocks"] > 3, at_peak
            rows = json.loads(text_of(await session.call_tool(
                "query", {"file": recording, "sql": f"SELECT bytes FROM alloc WHERE block = {block['block']}"})))
            assert rows == [{"bytes": block["bytes"]}], "an id from one answer must work in the next query"

            judged = json.loads(text_of(await session.call_tool("check", {"file": recording, "max_peak": "1MiB"})))
            assert judged["verdict"] == "not_met", judged

            wrong = await session.call_tool("report", {"file": "/nowhere.sluice"})
            assert getattr(wrong, "isError", None) or getattr(wrong, "is_error", None), wrong
    print(f"ok: {len(names)} tools")


asyncio.run(asyncio.wait_for(check(*sys.argv[1:3]), 100))
