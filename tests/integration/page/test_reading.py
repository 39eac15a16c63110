"""read_page's text, markdown and html; extract_links; query_element."""

from __future__ import annotations

import re

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import targets_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

ARTICLE = """<nav><a href=/a>Home</a> | <a href=/b>News</a></nav>
<h1>The <em>great</em> title</h1>
<p>First  paragraph,
  with <b>bold</b>, a <a href=/link?x=1&y=2>link</a> and <code>code()</code>.</p>
<ul><li>One<li>Two<ol><li>Inner</ol></ul>
<pre>def f():
    return 1</pre>
<table><tr><th>Name<th>Price</tr><tr><td>Tea<td>3</tr></table>
<blockquote>Quoted</blockquote><img src=/i.png alt="A picture"><script>let hidden = 'script'</script><style>p{}</style>
<noscript>no script</noscript><textarea>typed</textarea><p>End</p>"""


async def text(
    driver: Driver, form: pb.PageFormat.ValueType = pb.PAGE_FORMAT_TEXT, **more: object
) -> pb.ReadPageResult:
    return await driver.run(pb.ReadPageOperation(format=form, **more))  # type: ignore[arg-type]


async def test_text_as_a_person_would_copy_it(driver: Driver) -> None:
    await driver.show(ARTICLE, recorded=False)
    result = await text(driver)
    assert result.content == (
        "Home | News\n\nThe great title\n\nFirst paragraph, with bold, a link and code().\n\nOne\nTwo\n\nInner\n\n"
        "def f():\n    return 1\n\nName\tPrice\nTea\t3\n\nQuoted\n\nEnd"
    )
    assert (result.title, result.url) == ("Test", driver.site.url("/"))
    assert re.fullmatch("[0-9a-f]{32}", result.boundary)
    assert result.boundary != (await text(driver)).boundary


async def test_markdown(driver: Driver) -> None:
    await driver.show(ARTICLE, recorded=False)
    origin = driver.site.origin
    assert (await text(driver, pb.PAGE_FORMAT_MARKDOWN)).content == (
        f"[Home]({origin}/a) | [News]({origin}/b)\n\n# The *great* title\n\n"
        f"First paragraph, with **bold**, a [link]({origin}/link?x=1&y=2) and `code()`.\n\n- One\n- Two\n  1. Inner\n\n"
        "```\ndef f():\n    return 1\n```\n\n| Name | Price |\n| --- | --- |\n| Tea | 3 |\n\n> Quoted\n\n"
        f"![A picture]({origin}/i.png)\n\nEnd"
    )


async def test_html_without_scripts_and_handlers(driver: Driver) -> None:
    await driver.show(
        "<p onclick='steal()' class=x style='color:red'>Hi <b>you</b> &amp; &lt;me&gt;<!-- secret -->"
        "<a href='javascript:steal()'>j</a><script>steal()</script><input type=password value=hunter2></p>",
        recorded=False,
    )
    content = (await text(driver, pb.PAGE_FORMAT_HTML)).content
    assert '<p class="x">Hi <b>you</b> &amp; &lt;me&gt;<a>j</a><input type="password"></p>' in content
    assert not re.search("steal|secret|hunter2|<script", content)


async def test_text_that_people_cannot_see_is_left_out_and_counted(driver: Driver) -> None:
    hidden = [
        "<p style='display:none'>H1", "<p style='visibility:hidden'>H2", "<p style='opacity:0.01'>H3",
        "<p style='position:absolute;left:-9999px'>H4", "<p style='font-size:1px'>H5", "<p style='color:#fff'>H6",
        "<p style='position:absolute;width:1px;height:1px;overflow:hidden'>H7", "<p style='text-indent:-9999px'>H8",
        "<p style='clip-path:inset(50%);position:absolute'>H9", "<p style='background:#123;color:#124'>H10",
        "<p style='color:transparent'>H11", "<div style='opacity:0.2'><p style='opacity:0.1'>H12</div>",
    ]  # fmt: skip
    shown = ["<p>S1", "<p style='opacity:0.5'>S2", "<p aria-hidden=true>S3", "<p style='color:#eee'>S4"]
    await driver.show("</p>".join([*hidden, *shown]), recorded=False)
    for form in (pb.PAGE_FORMAT_TEXT, pb.PAGE_FORMAT_MARKDOWN, pb.PAGE_FORMAT_HTML):
        result = await text(driver, form)
        assert re.findall(r"H\d+", result.content) == []
        assert re.findall(r"S\d+", result.content) == ["S1", "S2", "S3", "S4"]
        assert result.hidden_count == len(hidden)


async def test_parts_make_the_whole(driver: Driver) -> None:
    await driver.show("".join(f"<p>Line {i} 👩‍👩‍👧</p>" for i in range(500)), recorded=False)
    for form in (pb.PAGE_FORMAT_TEXT, pb.PAGE_FORMAT_MARKDOWN, pb.PAGE_FORMAT_HTML):
        parts: list[str] = []
        cursor = ""
        while True:
            part = await text(driver, form, max_chars=700, cursor=cursor)
            assert len(part.content) <= 700
            parts.append(part.content)
            cursor = part.next_cursor
            if not cursor:
                break
        assert re.findall(r"Line (\d+)", "".join(parts)) == [str(i) for i in range(500)]
        assert "\ufffd" not in "".join(parts)


async def test_lone_surrogates_are_replaced(driver: Driver) -> None:
    await driver.show(
        "<p id=p></p><button id=b></button><script>p.textContent = 'a\\ud800b'; b.textContent = 'x\\udc00';"
        "document.title = 't\\ud83d'</script>",
        recorded=False,
    )
    result = await text(driver)
    assert result.content == "a\ufffdb x\ufffd".replace(" x", "\n\nx")
    assert result.title == "t\ufffd"
    assert "x\ufffd" in await driver.snapshot()


async def test_frames_are_read_in_their_place(driver: Driver) -> None:
    driver.site.put("/inner", "<p>Inside</p>")
    await driver.show("<p>Before</p><iframe src=/inner></iframe><p>After</p>", recorded=False)
    assert re.findall(r"\w+", (await text(driver)).content) == ["Before", "Inside", "After"]


async def test_scope(driver: Driver) -> None:
    await driver.show("<p>Out</p><section id=s><p>In</p></section>", recorded=False)
    assert (await text(driver, scope=targets_pb2.Target(selector="#s"))).content == "In"
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.ReadPageOperation(scope=targets_pb2.Target(selector="#none")), seconds=0.6)
    assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND


async def test_links_resolved_without_repeats_in_order(driver: Driver) -> None:
    driver.site.put("/inner", "<a href=/frame>In frame</a>")
    await driver.show(
        "<base href=/dir/><a href=one>One</a><a href=/two rel='nofollow'><img alt='Picture two'></a>"
        "<a href=one>Again</a>"
        "<a href='javascript:x()'>no</a><a href=#part>Part</a><a href=three style='display:none'>Hidden</a>"
        "<a href=mailto:a@b.c>Mail</a><a>none</a><iframe src=/inner></iframe>",
        recorded=False,
    )
    result = await driver.run(pb.ExtractLinksOperation())
    origin = driver.site.origin
    assert [(link.url, link.text) for link in result.links] == [
        (f"{origin}/dir/one", "One"), (f"{origin}/two", "Picture two"), (f"{origin}/dir/#part", "Part"),
        ("mailto:a@b.c", "Mail"), (f"{origin}/frame", "In frame"),
    ]  # fmt: skip
    assert result.links[1].rel == "nofollow"
    assert result.total == 5


async def test_many_links_are_bounded(driver: Driver) -> None:
    await driver.show("".join(f"<a href=/{i}?{'x' * 100}>Link {i}</a> " for i in range(2000)), recorded=False)
    result = await driver.run(pb.ExtractLinksOperation(limit=1000))
    assert result.total == 2000
    assert sum(len(link.url) + len(link.text) for link in result.links) <= 25_000
    assert len((await driver.run(pb.ExtractLinksOperation(limit=7))).links) == 7


async def test_query_element_describes(driver: Driver) -> None:
    await driver.show(
        "<style>#m { position: absolute; left: 10px; top: 99px }</style>"
        "<label>Mail <input id=m type=email placeholder=you required value=a@b></label>"
        "<p class=x>one</p><p class=x style='visibility:hidden'>two</p><input type=password id=p value=pw>",
        recorded=False,
    )
    [mail] = (await driver.run(pb.QueryElementOperation(target=targets_pb2.Target(selector="#m")))).elements
    assert (mail.role, mail.name, mail.tag, mail.value) == ("textbox", "Mail", "input", "a@b")
    assert (mail.visible, mail.enabled, list(mail.states)) == (True, True, ["required"])
    assert (mail.box.x, mail.box.y) == (10, 99)
    assert dict(mail.attributes) == {"id": "m", "type": "email", "placeholder": "you"}
    every = await driver.run(pb.QueryElementOperation(target=targets_pb2.Target(selector="p.x"), limit=1))
    assert (every.total, len(every.elements), every.elements[0].text) == (1, 1, "one")
    [secret] = (await driver.run(pb.QueryElementOperation(target=targets_pb2.Target(selector="#p")))).elements
    assert "pw" not in str(secret)
    none = await driver.run(pb.QueryElementOperation(target=targets_pb2.Target(text="nowhere")))
    assert (none.total, len(none.elements)) == (0, 0)
