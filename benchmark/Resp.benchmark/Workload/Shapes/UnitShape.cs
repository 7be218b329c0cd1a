using System.Buffers.Text;
using System.Text;

namespace RespBenchmark.Workload;

/// <summary>A unit compiled: sections of steps, in the order of the wire.</summary>
internal sealed class UnitShape
{
    /// <summary>"$" and CRLF and the ten digits of 1 GiB, and the CRLF behind the argument.</summary>
    public const int HeaderBytesMax = 16;

    private readonly List<Section> _sections = [];
    private readonly List<Field> _fields = [];
    private readonly long[] _commandBytesMax;

    private UnitShape(int commands) => _commandBytesMax = new long[commands];

    /// <summary>In the order of the wire.</summary>
    public Section[] Sections { get; private set; } = [];

    /// <summary>In the order of their places.</summary>
    public IReadOnlyList<Field> Fields => _fields;

    public int Commands => _commandBytesMax.Length;

    /// <summary>The most bytes that one of its commands takes.</summary>
    public long BytesMaxOf(int command) => _commandBytesMax[command];

    public static UnitShape Compile(Unit unit)
    {
        var shape = new UnitShape(unit.Commands.Count);
        for (int command = 0; command < unit.Commands.Count; command++) shape.Add(unit.Commands[command], command);
        shape.Sections = [.. shape._sections];
        return shape;
    }

    private void Add(Command command, int number)
    {
        int first = _sections.Count;
        if (command.Raw is { } raw)
        {
            AddSection([], 1, number, raw);
        }
        else
        {
            long arguments = command.Groups.Sum(group => group.Arguments.Count * group.Times);
            byte[] head = Encoding.ASCII.GetBytes($"*{arguments}\r\n");
            foreach (Repeated group in command.Groups.Where(group => group.Times > 0 && group.Arguments.Count > 0))
            {
                if (head.Length > 0 && group.Times > 1) AddSection([], 1, number, head);
                AddSection(group.Arguments, group.Times, number, group.Times > 1 ? [] : head);
                head = [];
            }
        }

        _sections[first].BeginsCommand = true;
        _sections[^1].EndsCommand = true;
        for (int index = first; index < _sections.Count; index++)
            _commandBytesMax[number] += _sections[index].BytesMax * _sections[index].Times;
    }

    private void AddSection(IReadOnlyList<Argument> arguments, long times, int command, byte[] head)
    {
        int firstPlace = _fields.Count;
        var steps = new StepList();
        steps.Add(head);
        foreach (Argument argument in arguments)
        {
            steps.BeginArgument(argument, _fields.Count);
            foreach (Part part in argument.Parts)
            {
                if (part.Text is { } text)
                {
                    steps.Add(text);
                }
                else
                {
                    steps.AddField(_fields.Count, part.Field!);
                    _fields.Add(part.Field!);
                }
            }

            steps.Add("\r\n"u8);
        }

        long firstPiece = _sections.Count == 0 ? 0 : _sections[^1].FirstPiece + _sections[^1].Times;
        Field[] fields = [.. _fields.Skip(firstPlace)];
        int key = Array.FindIndex(fields, field => field.IsKey);
        var section = new Section
        {
            Fields = fields, FirstPlace = firstPlace, Steps = steps.Finish(), Times = times, Command = command,
            FirstPiece = firstPiece, KeyPlace = key < 0 ? -1 : firstPlace + key, BytesMax = steps.BytesMax,
        };
        if (steps.IsFixed && steps.BytesMax <= RequestSource.ImageBytes)
            (section.Fixed, section.Gaps) = Flatten(section);
        _sections.Add(section);
    }

    private (byte[] Bytes, (int, int)[] Gaps) Flatten(Section section)
    {
        var bytes = new byte[section.BytesMax];
        var gaps = new List<(int, int)>();
        int at = 0;
        foreach (Step step in section.Steps)
        {
            if (step.Text is { } text)
            {
                text.CopyTo(bytes, at);
                at += text.Length;
            }
            else
            {
                gaps.Add((at, _fields[step.Place].Width));
                at += _fields[step.Place].Width;
            }
        }

        return (bytes, [.. gaps]);
    }

    /// <summary>Steps as they are gathered: constant bytes that meet become one.</summary>
    private sealed class StepList
    {
        private readonly List<Step> _steps = [];
        private readonly List<byte> _text = [];

        public bool IsFixed { get; private set; } = true;

        public long BytesMax { get; private set; }

        public void Add(ReadOnlySpan<byte> text)
        {
            _text.AddRange(text);
            BytesMax += text.Length;
        }

        public void AddField(int place, Field field)
        {
            Flush();
            _steps.Add(Step.OfField(place));
            BytesMax += field.WidthMax;
        }

        /// <summary>Writes "$length", when that is constant; else a step that will.</summary>
        public void BeginArgument(Argument argument, int firstPlace)
        {
            long constant = argument.Parts.Sum(part => part.Text?.LongLength ?? Math.Max(0, part.Field!.Width));
            Field[] fields = [.. argument.Parts.Where(part => part.Field is not null).Select(part => part.Field!)];
            if (Array.TrueForAll(fields, field => field.Width >= 0))
            {
                Span<byte> header = stackalloc byte[HeaderBytesMax + 8];
                header[0] = (byte)'$';
                Utf8Formatter.TryFormat(constant, header[1..], out int digits);
                "\r\n"u8.CopyTo(header[(1 + digits)..]);
                Add(header[..(digits + 3)]);
                return;
            }

            IsFixed = false;
            Flush();
            long text = argument.Parts.Sum(part => part.Text?.LongLength ?? 0);
            _steps.Add(Step.OfHeader(text, firstPlace, fields.Length));
            BytesMax += HeaderBytesMax;
        }

        public Step[] Finish()
        {
            Flush();
            return [.. _steps];
        }

        private void Flush()
        {
            if (_text.Count > 0) _steps.Add(Step.OfText([.. _text]));
            _text.Clear();
        }
    }
}
