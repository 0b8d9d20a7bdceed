import httpx
import pytest

pytestmark = pytest.mark.anyio


async def test_flow(client: httpx.AsyncClient) -> None:
    r = await client.post("/api/v1/auth/register", json={"email": "a@b.co", "password": "12345678", "display_name": "A"})
    assert r.status_code == 201, r.text
    h = {"Authorization": "Bearer " + r.json()["access_token"]}
    print((await client.get("/api/v1/auth/me", headers=h)).text)
    r = await client.post("/api/v1/companies", json={"name": "Größe & Co"}, headers=h)
    assert r.status_code == 201, r.text
    cid = r.json()["id"]
    print(r.json(), r.headers["location"])
    print((await client.get("/api/v1/companies", headers=h)).text)
    r = await client.post(f"/api/v1/companies/{cid}/organizations", json={"name": "Org"}, headers=h)
    assert r.status_code == 201, r.text
    oid = r.json()["id"]
    r = await client.post(f"/api/v1/organizations/{oid}/projects", json={"name": "Pro"}, headers=h)
    assert r.status_code == 201, r.text
    pid = r.json()["id"]
    r = await client.put(f"/api/v1/projects/{pid}", json={"description": "x"}, headers=h)
    assert r.json()["description"] == "x", r.text
    r2 = await client.post("/api/v1/auth/register", json={"email": "b@b.co", "password": "12345678"})
    h2 = {"Authorization": "Bearer " + r2.json()["access_token"]}
    assert (await client.get(f"/api/v1/projects/{pid}", headers=h2)).status_code == 403
    r = await client.post(f"/api/v1/projects/{pid}/members", json={"email": "B@b.co", "role": "viewer"}, headers=h)
    assert r.status_code == 201, r.text
    assert (await client.get(f"/api/v1/projects/{pid}", headers=h2)).status_code == 200
    assert (await client.get("/api/v1/companies", headers=h2)).json()["total"] == 1
    r = await client.delete(f"/api/v1/companies/{cid}", headers=h)
    assert r.status_code == 204, r.text
    t = r2.json()["refresh_token"]
    a = await client.post("/api/v1/auth/refresh", json={"refresh_token": t})
    assert a.status_code == 200, a.text
    assert (await client.post("/api/v1/auth/refresh", json={"refresh_token": t})).status_code == 401
    assert (await client.get("/api/v1/auth/me", headers=h2)).status_code == 401
