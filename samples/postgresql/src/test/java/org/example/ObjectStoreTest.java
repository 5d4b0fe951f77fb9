package org.example;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The steps of README.md on a model of an object store. */
@Timeout(60)
class ObjectStoreTest {

    private final Map<String, StoredObject> objects = new HashMap<>();
    private boolean hasConditions = true;
    private int version;
    private HttpServer store;

    private record StoredObject(String text, String token, String etag) {
    }

    @BeforeEach
    void start() throws IOException {
        store = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        store.createContext("/", this::answer);
        store.start();
    }

    @AfterEach
    void stop() {
        store.stop(0);
    }

    /** On the thread of the server, one request at a time. */
    private void answer(HttpExchange exchange) throws IOException {
        String text = new String(exchange.getRequestBody().readAllBytes());
        String path = exchange.getRequestURI().getPath();
        StoredObject present = objects.get(path);
        int status = present == null ? 404 : 200;
        if (exchange.getRequestMethod().equals("PUT")) {
            String match = exchange.getRequestHeaders().getFirst("If-Match");
            boolean isNew = exchange.getRequestHeaders().containsKey("If-None-Match");
            boolean isMet = match == null || present != null && match.equals(present.etag());
            if (hasConditions && (isNew && present != null || !isMet)) {
                status = 412;
            } else {
                status = 200;
                objects.put(path, new StoredObject(text, exchange.getRequestHeaders().getFirst("x-amz-meta-fence"),
                        "\"" + ++version + "\""));
            }
        } else if (present != null) {
            exchange.getResponseHeaders().set("ETag", present.etag());
            exchange.getResponseHeaders().set("x-amz-meta-fence", present.token());
        }
        exchange.sendResponseHeaders(status, -1);
        exchange.close();
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + store.getAddress().getPort() + path);
    }

    @Test
    void aLateHolderDoesNotPut() throws Exception {
        FencedObject object = new FencedObject(uri("/orders/42"));
        assertTrue(object.put("late", 1));
        assertTrue(object.put("late again", 1));
        assertTrue(object.put("present", 2));
        assertFalse(object.put("too late", 1));
        assertEquals("present", text());
    }

    /** It has read before the later holder has put. */
    @Test
    void aHolderThatPausesAfterItsCheckDoesNotPut() throws Exception {
        FencedObject object = new FencedObject(uri("/orders/42"));
        HttpResponse<Void> absent = object.head();
        assertTrue(object.put("present", 2));
        assertFalse(object.putIfUnchanged(absent, "late", 1));
        HttpResponse<Void> read = object.head();
        assertTrue(object.put("present again", 2));
        assertFalse(object.putIfUnchanged(read, "late", 1));
        assertEquals("present again", text());
    }

    @Test
    void wrongIfMatchWithoutTheToken() throws Exception {
        FencedObject object = new FencedObject(uri("/orders/42"));
        assertTrue(object.put("present", 2));
        assertTrue(object.putIfUnchanged(object.head(), "late", 1));
        assertEquals("late", text());
    }

    @Test
    void theProbeFindsAStoreWithoutConditions() throws Exception {
        assertDoesNotThrow(() -> FencedObject.requireConditions(uri("/probe/1")));
        assertDoesNotThrow(() -> FencedObject.requireConditions(uri("/probe/1")));
        hasConditions = false;
        assertThrows(IllegalStateException.class, () -> FencedObject.requireConditions(uri("/probe/2")));
        FencedObject object = new FencedObject(uri("/orders/42"));
        HttpResponse<Void> absent = object.head();
        assertTrue(object.put("present", 2));
        assertTrue(object.putIfUnchanged(absent, "late", 1), "what the probe protects from");
    }

    private String text() {
        return objects.get("/orders/42").text();
    }
}
