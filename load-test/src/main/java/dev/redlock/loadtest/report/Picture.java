package dev.redlock.loadtest.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.Rectangle;
import java.awt.RenderingHints;
import java.awt.Shape;
import java.awt.geom.AffineTransform;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Line2D;
import java.awt.geom.Path2D;
import java.awt.geom.Point2D;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.DoubleFunction;
import javax.imageio.ImageIO;

/**
 * A PNG picture with axes and a legend. Places on an axis are shares of its length.
 *
 * @threading caller-confined
 */
final class Picture {
    private static final int WIDTH = 860;
    private static final int HEIGHT = 440;
    private static final int SCALE = 2;
    private static final Rectangle PLOT = new Rectangle(80, 45, 565, 310);
    private static final int BAND_ALPHA = 50;
    private static final double BAR_FILL = 0.8;
    private static final Color GRID = new Color(0xDDE2E8);
    private static final Color[] COLOURS = {new Color(0x0B62B8), new Color(0xC65A00), new Color(0x137A4B),
        new Color(0xB3246B), new Color(0x6A4FC4), new Color(0x8A7400), new Color(0x007F8C), new Color(0x84543A),
        new Color(0x566170), new Color(0x111111), new Color(0xD43A3A), new Color(0x5C9E00)};

    private final BufferedImage image = new BufferedImage(WIDTH * SCALE, HEIGHT * SCALE, BufferedImage.TYPE_INT_RGB);
    private final Graphics2D graphics = image.createGraphics();
    private int named;

    Picture(String title, String xTitle) {
        graphics.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        graphics.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        graphics.scale(SCALE, SCALE);
        graphics.setColor(Color.WHITE);
        graphics.fillRect(0, 0, WIDTH, HEIGHT);
        graphics.setFont(new Font(Font.SANS_SERIF, Font.BOLD, 15));
        text(title, PLOT.getCenterX(), 28, 0.5);
        graphics.setFont(new Font(Font.SANS_SERIF, Font.PLAIN, 12));
        text(xTitle, PLOT.getCenterX(), PLOT.getMaxY() + 45, 0.5);
    }

    private void text(String words, double x, double y, double shareBefore) {
        graphics.setColor(Color.BLACK);
        graphics.drawString(words, (float) (x - shareBefore * graphics.getFontMetrics().stringWidth(words)),
                (float) y);
    }

    private static Point2D at(double x, double y) {
        return new Point2D.Double(PLOT.x + x * PLOT.width, PLOT.getMaxY() - y * PLOT.height);
    }

    private void grid(Point2D from, Point2D to) {
        graphics.setColor(GRID);
        graphics.setStroke(new BasicStroke(1));
        graphics.draw(new Line2D.Double(from, to));
    }

    void markX(double x, String label) {
        grid(at(x, 0), at(x, 1));
        text(label, at(x, 0).getX(), PLOT.getMaxY() + 20, 0.5);
    }

    void markY(double y, String label) {
        grid(at(0, y), at(1, y));
        text(label, PLOT.x - 8, at(0, y).getY() + 4, 1);
    }

    /** A label of its own for each of so many groups of bars, slanted because names are long. */
    void markGroup(int group, int groupCount, String label) {
        AffineTransform before = graphics.getTransform();
        graphics.translate(at((group + 0.5) / groupCount, 0).getX() + 4, PLOT.getMaxY() + 16);
        graphics.rotate(-Math.PI / 6);
        text(label, 0, 0, 1);
        graphics.setTransform(before);
    }

    /** Puts the next name into the legend; returns its colour. */
    private Color name(String name) {
        Color colour = COLOURS[named % COLOURS.length];
        int y = PLOT.y + 12 + 20 * named++;
        text(name, PLOT.getMaxX() + 38, y, 0);
        graphics.setColor(colour);
        graphics.fillRect((int) PLOT.getMaxX() + 18, y - 10, 12, 12);
        return colour;
    }

    /** A line with a mark at each of its points, and with the area between the lows and the highs. */
    void line(String name, double[] x, double[] y, double[] lows, double[] highs) {
        Color colour = name(name);
        Path2D band = path(x, lows);
        for (int i = x.length - 1; i >= 0; i--) {
            lineTo(band, at(x[i], highs[i]));
        }
        fill(band, new Color(colour.getRed(), colour.getGreen(), colour.getBlue(), BAND_ALPHA));
        draw(path(x, y), colour);
        for (int i = 0; i < x.length; i++) {
            Point2D point = at(x[i], y[i]);
            fill(new Ellipse2D.Double(point.getX() - 3.5, point.getY() - 3.5, 7, 7), colour);
        }
    }

    void curve(String name, double[] x, double[] y) {
        draw(path(x, y), name(name));
    }

    private static Path2D path(double[] x, double[] y) {
        Path2D path = new Path2D.Double();
        for (int i = 0; i < x.length; i++) {
            lineTo(path, at(x[i], y[i]));
        }
        return path;
    }

    private static void lineTo(Path2D path, Point2D point) {
        if (path.getCurrentPoint() == null) {
            path.moveTo(point.getX(), point.getY());
        } else {
            path.lineTo(point.getX(), point.getY());
        }
    }

    private void draw(Shape shape, Color colour) {
        graphics.setColor(colour);
        graphics.setStroke(new BasicStroke(2));
        graphics.draw(shape);
    }

    private void fill(Shape shape, Color colour) {
        graphics.setColor(colour);
        graphics.fill(shape);
    }

    /** The bars of one name, which is one of so many: a bar in each group. */
    void bars(String name, int nameCount, List<Double> y) {
        double width = BAR_FILL / y.size() / nameCount;
        double first = (1 - BAR_FILL) / 2 / y.size() + named * width;
        Color colour = name(name);
        for (int i = 0; i < y.size(); i++) {
            Rectangle2D bar = new Rectangle2D.Double();
            bar.setFrameFromDiagonal(at(first + (double) i / y.size(), y.get(i)),
                    at(first + (double) i / y.size() + width, 0));
            fill(bar, colour);
        }
    }

    void save(Path file) throws IOException {
        graphics.dispose();
        ImageIO.write(image, "png", file.toFile());
    }

    /**
     * A logarithmic axis.
     *
     * @threading immutable
     */
    record LogScale(double min, double max) {

        /** From a power of ten to a power of ten. */
        static LogScale around(double min, double max) {
            double low = Math.pow(10, Math.floor(Math.log10(min)));
            return new LogScale(low, Math.max(10 * low, Math.pow(10, Math.ceil(Math.log10(max)))));
        }

        double share(double value) {
            return value <= min ? 0 : Math.log(value / min) / Math.log(max / min);
        }

        /** Marks each power of ten, from {@code min} on. */
        void mark(BiConsumer<Double, String> axis, DoubleFunction<String> label) {
            for (double value = min; value <= max * 1.001; value *= 10) {
                axis.accept(share(value), label.apply(value));
            }
        }
    }
}
