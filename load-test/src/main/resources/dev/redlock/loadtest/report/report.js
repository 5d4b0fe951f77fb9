'use strict';
// Draws the charts from the JSON in the page. Text from the data is only ever set as text, never parsed as markup.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.documentElement;
  const drawers = [];
  const MARKS_NAMED = 12;
  const MARKS_TOLD = 6;
  const WORDS_LONG = 30;
  const BAND = 'band ';
  const NARROW_PX = 600;
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
  const LEGEND = { gapPx: 14, linePx: 28, iconPx: 30, besidePx: 40 };

  // ---- small tools --------------------------------------------------------------------------------------------------

  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) { made.textContent = text; }
    if (className) { made.className = className; }
    return made;
  };
  const unique = values => [...new Set(values)];
  const median = values => {
    const sorted = [...values].sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  };
  const number = value => {
    if (value === null || value === undefined || Number.isNaN(value)) { return '–'; }
    const size = Math.abs(value);
    const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return value.toLocaleString('en-US', { maximumFractionDigits: digits });
  };
  const micros = us => us >= 1e6 ? number(us / 1e6) + ' s' : us >= 1e3 ? number(us / 1e3) + ' ms' : number(us) + ' us';
  const css = name => getComputedStyle(root).getPropertyValue(name).trim();
  const palette = () => root.dataset.theme === 'dark'
    ? ['#6cb4ff', '#ffb454', '#5fd39a', '#ff8fb3', '#b9a5ff', '#e8d44d', '#4fd6e0', '#d0a384', '#a5b0bd',
      '#f4f4f4', '#ff7a7a', '#a5d94c']
    : ['#0b62b8', '#c65a00', '#137a4b', '#b3246b', '#6a4fc4', '#8a7400', '#007f8c', '#84543a', '#566170',
      '#111111', '#d43a3a', '#5c9e00'];

  const load = spec => spec.loop === 'OPEN' ? number(spec.ratePerSecond) + '/s' : spec.inFlight + ' in flight';
  const loads = unique(data.series.map(one => load(one.spec)));
  const nodeCounts = unique(data.series.map(one => one.spec.nodes)).sort((a, b) => a - b);
  const drivers = unique(data.series.map(one => one.spec.driver));
  const operations = unique(data.series.flatMap(one => Object.keys(one.operations)));
  const percentiles = { 'p50': 'p50Us', 'p99': 'p99Us', 'p99.9': 'p999Us', 'max': 'maxUs' };

  /** Series that differ only by repetition, as one. */
  const groups = [];
  for (const one of data.series) {
    const key = JSON.stringify([one.spec.driver, one.spec.nodes, load(one.spec)]);
    let group = groups.find(other => other.key === key);
    if (!group) {
      group = { key, driver: one.spec.driver, nodes: one.spec.nodes, load: load(one.spec), spec: one.spec, runs: [] };
      groups.push(group);
    }
    group.runs.push(one);
  }
  const of = (group, value) => {
    const values = group.runs.map(value).filter(each => typeof each === 'number');
    return values.length ? { mid: median(values), min: Math.min(...values), max: Math.max(...values) } : null;
  };
  /** The figure of the turn with the lowest acquire p50, and its range over all turns. */
  const ofFastest = (group, value) => {
    const runs = group.runs.filter(run => run.operations.acquire?.count)
      .sort((a, b) => a.operations.acquire.p50Us - b.operations.acquire.p50Us);
    const range = of(group, value);
    return range && runs.length ? { ...range, mid: value(runs[0]) } : range;
  };
  const spread = value => value === null ? '–' : value.min === value.max ? number(value.mid)
    : `${number(value.mid)} (${number(value.min)}–${number(value.max)})`;
  const microsSpread = value => value === null ? '–' : value.min === value.max ? micros(value.mid)
    : `${micros(value.mid)} (${micros(value.min)}–${micros(value.max)})`;
  const label = parts => parts.filter(part => part !== '').join(', ');

  // ---- charts -------------------------------------------------------------------------------------------------------

  /** A section with controls, a chart, and its figures as a table. `make` returns {option, table} for the choices. */
  function chart(id, controls, make, words) {
    const section = document.getElementById(id);
    if (!section) { return; }
    section.hidden = false;
    const choice = {};
    const bar = element('div', undefined, 'controls');
    for (const [name, values, initial] of controls) {
      choice[name] = initial === undefined ? values[0] : initial;
      if (values.length < 2) { continue; }
      const line = element('label', name);
      const select = element('select');
      values.forEach(value => select.append(element('option', value)));
      select.value = choice[name];
      select.addEventListener('change', () => { choice[name] = select.value; draw(); });
      line.append(select);
      bar.append(line);
    }
    const box = element('div', undefined, 'chart');
    box.setAttribute('role', 'img');
    const details = element('details');
    details.append(element('summary', 'The same as a table'));
    const holder = element('div', undefined, 'scroll');
    details.append(holder);
    section.append(bar, box, details);
    let drawn = null;
    let width = 0;
    let rows = [];
    const fill = () => { if (details.open) { holder.replaceChildren(table(rows)); } };
    details.addEventListener('toggle', fill);
    function draw() {
      const made = make(choice);
      rows = made.table;
      box.setAttribute('aria-label', words + '. The figures are in the table below.');
      if (drawn) { drawn.dispose(); }
      box.style.height = made.height ? made.height + 'px' : '';
      width = box.clientWidth;
      const extraPx = (legendLines(unique(made.option.series.map(one => one.name)), width) - 1) * LEGEND.linePx;
      box.style.height = box.clientHeight + extraPx + 'px';
      drawn = echarts.init(box, null, { renderer: 'svg' });
      drawn.setOption(dressed(made.option, extraPx));
      fill();
    }
    drawers.push(draw);
    draw();
    new ResizeObserver(() => { if (box.clientWidth && box.clientWidth !== width) { draw(); } }).observe(box);
  }

  const isNarrow = () => root.clientWidth < NARROW_PX;
  const pen = document.createElement('canvas').getContext('2d');

  /** How many lines the names take above a chart: none of them hides behind a pager. */
  function legendLines(names, boxPx) {
    const roomPx = boxPx - (isNarrow() ? 0 : LEGEND.besidePx);
    pen.font = '12px ' + FONT;
    let lines = 1;
    let atPx = 0;
    for (const name of names) {
      const widthPx = LEGEND.iconPx + pen.measureText(name).width + LEGEND.gapPx;
      if (atPx > 0 && atPx + widthPx > roomPx) {
        lines++;
        atPx = 0;
      }
      atPx += widthPx;
    }
    return lines;
  }

  function table(rows) {
    const made = element('table');
    const head = element('thead');
    const body = element('tbody');
    rows.forEach((cells, index) => {
      const row = element('tr');
      cells.forEach(cell => row.append(element(index ? 'td' : 'th', typeof cell === 'number' ? number(cell) : cell,
        cell.length > WORDS_LONG ? 'long' : undefined)));
      (index ? body : head).append(row);
    });
    made.append(head, body);
    return made;
  }

  /** Colours, sizes and manners that all charts share. */
  function dressed(option, extraPx) {
    const ink = css('--ink');
    const soft = css('--soft');
    const line = css('--line');
    const axis = one => ({
      nameTextStyle: { color: soft, fontFamily: FONT, align: one.isUpright ? 'left' : 'center' }, axisLine: { lineStyle: { color: soft } },
      axisLabel: { color: soft, fontFamily: FONT, hideOverlap: true, ...one.axisLabel },
      splitLine: { lineStyle: { color: line } }, ...without(one, 'axisLabel'),
    });
    const narrow = isNarrow();
    return {
      animation: false, color: palette(), textStyle: { color: ink, fontFamily: FONT },
      legend: { top: 0, left: 0, right: narrow ? 0 : LEGEND.besidePx, itemGap: LEGEND.gapPx, textStyle: { color: ink, fontFamily: FONT } },
      grid: { containLabel: true, left: 12, right: option.roomRight || 30, top: (option.yAxis.name ? 72 : 44) + extraPx, bottom: 34 },
      toolbox: narrow ? {} : { right: 0, iconStyle: { borderColor: soft },
        feature: { saveAsImage: { title: 'Save as SVG', name: 'load-test' } } },
      tooltip: { trigger: 'axis', confine: true, backgroundColor: css('--card'), borderColor: line,
        textStyle: { color: ink, fontSize: 12 }, formatter: option.tip,
        extraCssText: 'max-width: min(360px, 88vw); white-space: normal;' },
      xAxis: axis({ nameLocation: 'middle', nameGap: 30, ...option.xAxis }),
      yAxis: axis({ nameLocation: 'end', nameGap: 14, isUpright: true, ...option.yAxis }),
      series: option.series.map(one => ({ symbolSize: 7, lineStyle: { width: 2 }, emphasis: { focus: 'series' }, ...one })),
    };
  }
  function without(object, name) {
    const { [name]: dropped, ...rest } = object;
    return rest;
  }

  /** The area from the least to the most: a line without a stroke, and the rest stacked on it. Part of the line's name. */
  function band(name, colour, points) {
    if (!points.some(point => point && point.max > point.min)) { return []; }
    const part = (id, values, opacity) => ({ type: 'line', id: BAND + id + name, name, color: colour, stack: BAND + name,
      silent: true, symbol: 'none', lineStyle: { width: 0 }, areaStyle: { opacity }, data: values });
    return [part('from', points.map(point => point && point.min), 0),
      part('to', points.map(point => point && point.max - point.min), 0.18)];
  }

  /** A tooltip made of elements: names from the data stay text. */
  function tip(title, format, meanwhile = () => []) {
    return points => {
      const list = (Array.isArray(points) ? points : [points]).filter(point => !String(point.seriesId).startsWith(BAND));
      const box = element('div', undefined, 'tip');
      box.append(element('b', title(list[0])));
      for (const point of list) {
        const name = element('span');
        const dot = element('span', undefined, 'dot');
        dot.style.background = point.color;
        name.append(dot, document.createTextNode(point.seriesName));
        box.append(name, element('i', format(point)));
      }
      const words = meanwhile(list[0]);
      words.slice(0, MARKS_TOLD).forEach(text => box.append(element('em', text)));
      if (words.length > MARKS_TOLD) { box.append(element('em', `and ${words.length - MARKS_TOLD} more`)); }
      return box;
    };
  }

  const seriesName = (group, isLoadShown, isNodesShown) => label([
    drivers.length > 1 ? group.driver : '', isNodesShown && nodeCounts.length > 1 ? 'N = ' + group.nodes : '',
    isLoadShown && loads.length > 1 ? group.load : '']) || group.driver;

  /** The series whose percentile curve stands for its repetitions: the one of the median p99. */
  const representative = (group, operation) => {
    const runs = group.runs.filter(run => run.operations[operation])
      .sort((a, b) => a.operations[operation].p99Us - b.operations[operation].p99Us);
    return runs[(runs.length - 1) >> 1];
  };

  if (data.series.length) {
    const measured = operations.includes('acquire') ? 'acquire' : operations[0];
    const nodesControl = drivers.length > 1
      ? ['nodes', nodeCounts.map(String), String(nodeCounts[nodeCounts.length - 1])] : ['nodes', ['all']];

    chart('percentiles', [['operation', operations, measured], ['load', loads, loads[loads.length - 1]], nodesControl], choice => {
      const shown = groups.filter(group => group.load === choice.load
        && (choice.nodes === 'all' || String(group.nodes) === choice.nodes));
      const series = [];
      const rows = [['', 'p50', 'p90', 'p99', 'p99.9', 'p99.99', 'max']];
      for (const group of shown) {
        const run = representative(group, choice.operation);
        if (!run) { continue; }
        const result = run.operations[choice.operation];
        const name = seriesName(group, false, choice.nodes === 'all');
        const last = Math.max(1, result.count);
        series.push({ type: 'line', name, showSymbol: false,
          data: result.curve.filter(([p, us]) => us > 0 && 1 / (1 - p / 100) <= last)
            .map(([p, us]) => [1 / (1 - p / 100), us]) });
        rows.push([name, ...['p50Us', 'p90Us', 'p99Us', 'p999Us', 'p9999Us', 'maxUs'].map(key => micros(result[key]))]);
      }
      const percent = x => (100 - 100 / x).toFixed(Math.max(0, Math.ceil(Math.log10(x) - 0.01) - 2));
      // 99.99 and 99.999 touch each other.
      const isCrowded = () => isNarrow() && series.some(one => one.data.some(([x]) => x > 1e5));
      return { table: rows, option: {
        xAxis: { type: 'log', name: '% of operations that were at least as fast', min: 1,
          axisLabel: { formatter: x => isCrowded() && Math.round(x) === 1e4 ? '' : percent(x) } },
        yAxis: { type: 'log', name: choice.operation + ' latency', axisLabel: { formatter: micros } },
        tip: tip(point => 'fastest ' + percent(point.value[0]) + ' %', point => micros(point.value[1])), series } };
    }, 'Latency by percentile');

    if (nodeCounts.length > 1) {
      chart('nodes', [['operation', operations, measured], ['load', loads, loads[drivers.length > 1 ? loads.length - 1 : 0]],
        ['percentile', drivers.length > 1 ? Object.keys(percentiles) : ['all']]], choice => {
        const names = choice.percentile === 'all' ? ['p50', 'p99', 'p99.9'] : [choice.percentile];
        const lines = [];
        const bands = [];
        const rows = [['', ...nodeCounts.map(count => 'N = ' + count)]];
        for (const driver of drivers) {
          for (const name of names) {
            const points = nodeCounts.map(count => {
              const group = groups.find(one => one.driver === driver && one.nodes === count && one.load === choice.load);
              return group ? ofFastest(group, run => run.operations[choice.operation]?.[percentiles[name]]) : null;
            });
            const title = label([drivers.length > 1 ? driver : '', names.length > 1 ? name : '']) || driver;
            const colour = palette()[lines.length % palette().length];
            lines.push({ type: 'line', name: title, color: colour, data: points.map(point => point && point.mid || null) });
            bands.push(...band(title, colour, points));
            rows.push([title, ...points.map(microsSpread)]);
          }
        }
        const series = [...lines, ...bands];
        return { table: rows, option: {
          xAxis: { type: 'category', name: 'number of nodes', data: nodeCounts.map(String) },
          yAxis: { type: 'log', name: choice.operation + ' latency', axisLabel: { formatter: micros } },
          tip: tip(point => 'N = ' + point.name, point => point.value ? micros(point.value) : '–'), series } };
      }, 'Latency against the number of nodes');
    }

    if (loads.length > 1) {
      const isOpen = data.series.some(one => one.spec.loop === 'OPEN');
      const of2 = spec => spec.loop === 'OPEN' ? spec.ratePerSecond : spec.inFlight;
      const axisName = isOpen ? 'intended cycles per second' : 'cycles in flight';
      const steps = unique(data.series.map(one => of2(one.spec))).sort((a, b) => a - b);
      const lines = (choice, value, format, yName) => {
        const series = [];
        const rows = [['', ...steps.map(number)]];
        for (const driver of drivers) {
          for (const count of nodeCounts) {
            if (choice.nodes !== 'all' && String(count) !== choice.nodes) { continue; }
            const own = groups.filter(one => one.driver === driver && one.nodes === count);
            if (!own.length) { continue; }
            const at = step => own.find(one => of2(one.spec) === step);
            const points = steps.map(step => at(step) ? of(at(step), value) : null);
            const name = seriesName(own[0], false, choice.nodes === 'all');
            series.push({ type: 'line', name, data: points.map(point => point && point.mid || null) });
            rows.push([name, ...points.map(point => point ? format(point) : '–')]);
          }
        }
        return { table: rows, option: {
          xAxis: { type: 'category', name: axisName, data: steps.map(number) },
          yAxis: yName, tip: tip(point => point.name + ' ' + axisName,
            point => point.value ? format({ mid: point.value }, true) : '–'), series } };
      };
      chart('throughput', [nodesControl], choice => lines(choice, run => run.tally.cyclesPerSecond,
        (point, isBare) => isBare ? number(point.mid) : spread(point),
        { type: 'log', name: 'cycles per second', axisLabel: { formatter: number } }), 'Throughput against the load');
      chart('loaded', [['operation', operations, measured], ['percentile', Object.keys(percentiles), 'p99'], nodesControl],
        choice => lines(choice, run => run.operations[choice.operation]?.[percentiles[choice.percentile]],
          point => micros(point.mid), { type: 'log', name: choice.operation + ' latency', axisLabel: { formatter: micros } }),
        'Latency against the load');
    }

    if (drivers.length > 1) {
      const measures = {
        'cycles per second': run => run.tally.cyclesPerSecond,
        'client CPU per cycle, us': run => run.cost.cpuUsPerCycle,
        'heap bytes per cycle': run => run.cost.allocatedBytesPerCycle,
        'server CPU per cycle, us': run => run.figures.serverCpuUsPerCycle,
        'acquire p50, us': run => run.operations.acquire?.p50Us,
        'acquire p99, us': run => run.operations.acquire?.p99Us,
      };
      const known = Object.keys(measures).filter(name => data.series.some(one => typeof measures[name](one) === 'number'));
      chart('drivers', [['figure', known], ['load', loads, loads[loads.length - 1]]], choice => {
        const value = measures[choice.figure];
        const rows = [['', ...nodeCounts.map(count => 'N = ' + count)]];
        const points = driver => nodeCounts.map(count => {
          const group = groups.find(one => one.driver === driver && one.nodes === count && one.load === choice.load);
          return group ? of(group, value) : null;
        });
        drivers.forEach(driver => rows.push([driver, ...points(driver).map(spread)]));
        const height = Math.max(320, 100 + drivers.length * (20 + 14 * nodeCounts.length));
        return { table: rows, height, option: { roomRight: 64,
          xAxis: { type: 'value', name: choice.figure, splitNumber: isNarrow() ? 2 : 5, axisLabel: { formatter: number } },
          yAxis: { type: 'category', data: drivers, inverse: true, axisLabel: { hideOverlap: false } },
          tip: tip(point => point.name, point => number(point.value)),
          series: nodeCounts.map((count, i) => ({ type: 'bar', name: 'N = ' + count, barMaxWidth: 18,
            label: nodeCounts.length > 3 ? {} : { show: true, position: 'right', color: css('--soft'), fontSize: 11,
              formatter: point => point.value === null ? '' : number(point.value) },
            data: drivers.map(driver => { const point = points(driver)[i]; return point && point.mid; }) })) } };
      }, 'Drivers side by side');
    }

    // ---- over time --------------------------------------------------------------------------------------------------

    const titles = data.series.map(one => one.title);
    const marked = data.series.find(one => one.marks.length) || data.series[data.series.length - 1];
    const seconds = ms => number(ms / 1000) + ' s';
    /** Moments as lines, named while they are few; what went on for a while as bands. Tooltip and table name them all. */
    const markings = one => {
      const moments = one.marks.filter(mark => !mark.lengthMs);
      const bands = one.marks.filter(mark => mark.lengthMs);
      return {
        markLine: { symbol: 'none', silent: true, lineStyle: { color: css('--bad'), type: 'dashed', width: 1.5 },
          label: { show: moments.length <= MARKS_NAMED, color: css('--bad'), rotate: 90, position: 'insideEndBottom', distance: 3,
            fontSize: 11, formatter: point => point.name },
          data: moments.map(mark => ({ name: mark.text, xAxis: mark.offsetMs })) },
        markArea: { silent: true, itemStyle: { color: css('--bad'), opacity: 0.12 }, label: { show: false },
          data: bands.map(mark => [{ xAxis: mark.offsetMs }, { xAxis: mark.offsetMs + mark.lengthMs }]) },
      };
    };
    const until = (points, from) => points.find(at => at > from) ?? Infinity;
    const meanwhile = (one, points) => point => one.marks
      .filter(mark => mark.offsetMs < until(points, point.value[0]) && mark.offsetMs + mark.lengthMs >= point.value[0])
      .map(mark => mark.text);
    const begunIn = (one, points, from) => one.marks
      .filter(mark => mark.offsetMs >= from && mark.offsetMs < until(points, from)).map(mark => mark.text).join('; ');
    /** As many digits as tell about five ticks apart. */
    const timeAxis = points => {
      const digits = Math.max(0, Math.ceil(-Math.log10(((points[points.length - 1] - points[0]) || 5000) / 5000)));
      return { type: 'value', name: 'since the start of the run', min: 'dataMin', max: 'dataMax', splitLine: { show: false },
        axisLabel: { formatter: ms => (ms / 1000).toFixed(digits) + ' s', showMinLabel: false, showMaxLabel: false } };
    };
    if (data.series.some(one => operations.some(name => (one.operations[name]?.intervals.length || 0) > 1))) {
      chart('time', [['series', titles, marked.title], ['operation', operations, measured],
        ['show', ['latency', 'operations per second']]], choice => {
        const one = data.series.find(each => each.title === choice.series);
        const intervals = one.operations[choice.operation]?.intervals || [];
        const isRate = choice.show !== 'latency';
        const lines = isRate
          ? { 'per second': each => each.count * 1000 / Math.max(1, each.lengthMs) }
          : { p50: each => each.p50Us || null, p99: each => each.p99Us || null, max: each => each.maxUs || null };
        const points = intervals.map(each => each.offsetMs);
        const latencies = each => [each.p50Us, each.p99Us, each.maxUs].map(us => each.count ? micros(us) : '–');
        const rows = [['from', 'count', 'p50', 'p99', 'max'],
          ...intervals.map(each => [seconds(each.offsetMs), each.count, ...latencies(each)])];
        if (one.marks.length) {
          rows.forEach((row, i) => row.push(i ? begunIn(one, points, points[i - 1]) : 'what began then'));
        }
        return { table: rows, option: {
          xAxis: timeAxis(points),
          yAxis: { type: isRate ? 'value' : 'log', name: isRate ? choice.operation + 's per second' : choice.operation + ' latency',
            axisLabel: { formatter: isRate ? number : micros } },
          tip: tip(point => 'at ' + seconds(point.value[0]), point => point.value[1] === null ? '–'
            : isRate ? number(point.value[1]) : micros(point.value[1]), meanwhile(one, points)),
          series: Object.keys(lines).map((name, i) => ({ type: 'line', name, showSymbol: intervals.length < 60, symbolSize: 5,
            data: intervals.map(each => [each.offsetMs, lines[name](each)]), ...(i === 0 ? markings(one) : {}) })) } };
      }, 'Latency over time, with marks for what happened');
    }

    const sampled = data.series.filter(one => one.samples.length > 1);
    if (sampled.length) {
      const names = unique(sampled.flatMap(one => one.samples.flatMap(sample => Object.keys(sample.values))));
      chart('samples', [['reading', names], ['series', sampled.map(one => one.title)]], choice => {
        const one = sampled.find(each => each.title === choice.series);
        const points = one.samples.map(sample => [sample.offsetMs, sample.values[choice.reading] ?? null]);
        return { table: [['at', choice.reading], ...points.map(([at, value]) => [seconds(at), value])], option: {
          xAxis: timeAxis(points.map(([at]) => at)), yAxis: { type: 'value', name: choice.reading, scale: true, axisLabel: { formatter: number } },
          tip: tip(point => 'at ' + seconds(point.value[0]), point => number(point.value[1]),
            meanwhile(one, points.map(([at]) => at))),
          series: [{ type: 'line', name: choice.reading, showSymbol: false, data: points, ...markings(one) }] } };
      }, 'Readings over time');
    }
  }

  // ---- light and dark -----------------------------------------------------------------------------------------------

  const toggle = document.getElementById('theme');
  function show(theme) {
    root.dataset.theme = theme;
    toggle.textContent = theme === 'dark' ? 'Light' : 'Dark';
    toggle.setAttribute('aria-label', 'Switch to the ' + (theme === 'dark' ? 'light' : 'dark') + ' theme');
    drawers.forEach(draw => draw());
  }
  const asked = location.hash === '#dark' || location.hash === '#light' ? location.hash.slice(1) : null;
  const preferred = window.matchMedia('(prefers-color-scheme: dark)');
  show(asked || (preferred.matches ? 'dark' : 'light'));
  preferred.addEventListener('change', event => show(event.matches ? 'dark' : 'light'));
  toggle.hidden = false;
  toggle.addEventListener('click', () => show(root.dataset.theme === 'dark' ? 'light' : 'dark'));
})();
