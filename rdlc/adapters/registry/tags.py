"""The tags of a repository, page by page."""

import re

from rdlc.adapters.registry.connections import Answer
from rdlc.adapters.registry.session import Session
from rdlc.core.image.oci_json import JsonObject
from rdlc.core.image.reference import ImageReference, is_tag
from rdlc.errors import OutsideError

PAGE_TAGS = 1000
PAGE_LIMIT = 100
TAG_LIMIT = 50_000
LINK_LIMIT = 4096

_NEXT = re.compile(r'<([^<>]*)>[^,]*;\s*rel="?next"?', re.IGNORECASE)


def list_tags(session: Session, reference: ImageReference) -> tuple[str, ...]:
    """Every tag, sorted; names that no reference could hold are left out."""
    what = f"tag list of `{reference.name}`"
    tags: set[str] = set()
    path = f"tags/list?n={PAGE_TAGS}"
    for _ in range(PAGE_LIMIT):
        answer = session.get(reference, path, what=what)
        page = JsonObject.parse(answer.data, what=what)
        tags.update(tag for tag in page.texts("tags", most=TAG_LIMIT) if is_tag(tag))
        following = _next_path(answer, reference)
        if following is None:
            return tuple(sorted(tags))
        if len(tags) > TAG_LIMIT:
            break
        path = following
    raise OutsideError(f"the {what} does not end: {len(tags)} tags so far")


def _next_path(answer: Answer, reference: ImageReference) -> str | None:
    """The next page below the repository; a page elsewhere is refused, it would see the token."""
    link = _NEXT.search(", ".join(answer.headers("Link"))[:LINK_LIMIT])
    if link is None:
        return None
    target = answer.url.join(link[1])
    prefix = f"/v2/{reference.repository}/"
    if target.origin != answer.url.origin or not target.target.startswith(prefix):
        raise OutsideError(f"the tag list of `{reference.name}` goes on at `{target.without_query}`")
    return target.target.removeprefix(prefix)
