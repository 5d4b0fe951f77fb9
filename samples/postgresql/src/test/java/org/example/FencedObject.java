package org.example;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.UUID;

/** An object of a store that speaks HTTP, with the fencing token of its last writer in its metadata. */
final class FencedObject {

    private static final String TOKEN = "x-amz-meta-fence";

    private final HttpClient http = HttpClient.newHttpClient();
    private final URI uri;

    FencedObject(URI uri) {
        this.uri = uri;
    }

    /**
     * Throws unless the store honours both conditions.
     *
     * @param probe an object that nothing else uses
     */
    static void requireConditions(URI probe) throws IOException, InterruptedException {
        FencedObject object = new FencedObject(probe);
        object.put("If-None-Match", "*", "probe", 0);
        int ifNoneMatch = object.put("If-None-Match", "*", "probe", 0);
        int ifMatch = object.put("If-Match", "\"" + UUID.randomUUID() + "\"", "probe", 0);
        if (ifNoneMatch != 412 || ifMatch != 412) {
            throw new IllegalStateException("the store ignores conditions: it answered " + ifNoneMatch
                    + " to If-None-Match and " + ifMatch + " to If-Match instead of 412");
        }
    }

    /** Puts the text; false if a later holder has written. */
    boolean put(String text, long token) throws IOException, InterruptedException {
        while (true) {
            HttpResponse<Void> present = head();
            if (present.headers().firstValueAsLong(TOKEN).orElse(0) > token) {
                return false;
            }
            if (putIfUnchanged(present, text, token)) {
                return true;
            }
        }
    }

    HttpResponse<Void> head() throws IOException, InterruptedException {
        return http.send(HttpRequest.newBuilder(uri).method("HEAD", BodyPublishers.noBody()).build(),
                BodyHandlers.discarding());
    }

    boolean putIfUnchanged(HttpResponse<Void> present, String text, long token)
            throws IOException, InterruptedException {
        int status = present.statusCode() == 404
                ? put("If-None-Match", "*", text, token)
                : put("If-Match", present.headers().firstValue("ETag").orElseThrow(), text, token);
        if (status != 412 && status != 200) {
            throw new IOException("the store answered " + status);
        }
        return status == 200;
    }

    private int put(String condition, String value, String text, long token) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header(condition, value)
                .header(TOKEN, Long.toString(token))
                .PUT(BodyPublishers.ofString(text))
                .build();
        return http.send(request, BodyHandlers.discarding()).statusCode();
    }
}
