package dev.redlock.loadtest.compare;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * Encodes tasks and replies as lines of JSON, with complete histograms in HdrHistogram's compressed form.
 *
 * @threading immutable
 */
final class DriverLines {
    private static final ObjectMapper MAPPER = new ObjectMapper()
            .registerModule(new SimpleModule().addSerializer(Histogram.class, new HistogramWriter())
                    .addDeserializer(Histogram.class, new HistogramReader()));

    static String text(Object taskOrReply) throws IOException {
        return MAPPER.writeValueAsString(taskOrReply);
    }

    static DriverTask task(String line) throws IOException {
        return MAPPER.readValue(line, DriverTask.class);
    }

    static DriverReply reply(String line) throws IOException {
        return MAPPER.readValue(line, DriverReply.class);
    }

    /** @threading immutable */
    private static final class HistogramWriter extends StdSerializer<Histogram> {
        private static final long serialVersionUID = 1;

        HistogramWriter() {
            super(Histogram.class);
        }

        @Override
        public void serialize(Histogram histogram, JsonGenerator out, SerializerProvider provider) throws IOException {
            ByteBuffer bytes = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
            int length = histogram.encodeIntoCompressedByteBuffer(bytes);
            out.writeBinary(Arrays.copyOf(bytes.array(), length));
        }
    }

    /** @threading immutable */
    private static final class HistogramReader extends StdDeserializer<Histogram> {
        private static final long serialVersionUID = 1;

        HistogramReader() {
            super(Histogram.class);
        }

        @Override
        public Histogram deserialize(JsonParser in, DeserializationContext context) throws IOException {
            try {
                return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(in.getBinaryValue()), 1);
            } catch (DataFormatException e) {
                throw new IOException("a histogram that is none", e);
            }
        }
    }
}
