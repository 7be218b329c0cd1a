using RespBenchmark.CommandLine;

namespace RespBenchmark.Workload;

/// <summary>A workload of units: what every grammar's commands become.</summary>
internal sealed class ShapedWorkload : Workload
{
    private readonly UnitShape[] _units;
    private readonly byte[][] _kindNumbers;     // of each command of each unit
    private readonly CommandKind[] _kinds;
    private readonly bool[] _isGet;
    private readonly Func<Seat, Schedule> _schedule;
    private readonly IReadOnlyList<string> _scripts = [];
    private readonly long? _commands;

    /// <param name="schedule">Which unit comes when; null: the only one.</param>
    public ShapedWorkload(IReadOnlyList<Unit> units, Func<Seat, Schedule>? schedule = null)
    {
        _units = [.. units.Select(UnitShape.Compile)];
        var kinds = new List<CommandKind>();
        _kindNumbers = [.. units.Select(unit => NumbersOf(unit, kinds))];
        _kinds = [.. kinds];
        _isGet = [.. _kinds.Select(kind => kind.Name == "GET")];
        _schedule = schedule ?? Schedule.OnlyOne;
    }

    public override IReadOnlyList<CommandKind> Kinds => _kinds;

    public override bool TracksKeys => Verifier is not null;

    /// <summary>Checks replies; null: they are not.</summary>
    public ValueVerifier? Verifier { get; init; }

    public override long? Commands => _commands;

    /// <summary>The stream ends after so many commands of all sessions.</summary>
    public long? CommandsInAll
    {
        init => _commands = value;
    }

    public override IReadOnlyList<string> Scripts => _scripts;

    public IReadOnlyList<string> ScriptsToLoad
    {
        init => _scripts = value;
    }

    public IReadOnlyList<UnitShape> Units => _units;

    /// <summary>Units in shares of their weights, shuffled for each session.</summary>
    public static ShapedWorkload Mix(IReadOnlyList<(Unit Unit, int Weight)> mix, IReadOnlyList<string>? scripts = null,
        ValueVerifier? verifier = null)
    {
        (Unit Unit, int Weight)[] kept = [.. mix.Where(part => part.Weight > 0)];
        int[] weights = [.. kept.Select(part => part.Weight)];
        return new ShapedWorkload([.. kept.Select(part => part.Unit)],
            kept.Length == 1 ? null : seat => new MixSchedule(weights, seat, ScheduleStream))
        {
            ScriptsToLoad = scripts ?? [], Verifier = verifier,
        };
    }

    private const int ScheduleStream = -1;

    /// <summary>The most bytes that so many commands take, one of each unit in turn where there are several.</summary>
    public long BatchBytes(long commands)
    {
        if (_units.Length == 1) return commands * _units[0].BytesMaxOf(0);
        // Halves: the first of an odd batch has one more.
        long each = commands / _units.Length, more = commands % _units.Length;
        return _units.Select((unit, index) => (each + (index < more ? 1 : 0)) * unit.BytesMaxOf(0)).Sum();
    }

    public override RequestSource Open(int loop, int loops, int sessions, ulong seed)
    {
        var seat = new Seat(loop, loops, Math.Max(1, sessions), seed);
        var open = new List<FieldWriter[]>();
        int stream = 0;
        foreach (UnitShape unit in _units)
        {
            var fields = new UnitFields();
            var writers = new FieldWriter[unit.Fields.Count];
            for (int place = 0; place < writers.Length; place++)
            {
                writers[place] = unit.Fields[place].Open(seat, stream++, fields);
                fields.Add(unit.Fields[place], writers[place]);
            }

            open.Add(writers);
        }

        return ColumnSource.CanServe(_units)
            ? new ColumnSource(_units[0].Sections[0], open[0], _schedule(seat), TracksKeys)
            : new PieceSource(_units, [.. open], _kindNumbers, _schedule(seat), seat.Sessions, TracksKeys);
    }

    public override bool Verify(int kind, long key, ReadOnlySpan<byte> body) =>
        Verifier is null || key < 0 || !_isGet[kind] || Verifier.Check(key, body);

    /// <summary>The kinds of a unit's commands; repetitions in one unit are one kind.</summary>
    private static byte[] NumbersOf(Unit unit, List<CommandKind> kinds)
    {
        int first = kinds.Count;
        var numbers = new byte[unit.Commands.Count];
        for (int index = 0; index < numbers.Length; index++)
        {
            CommandKind kind = unit.Commands[index].Kind with { Continues = index < numbers.Length - 1 };
            int number = kinds.IndexOf(kind, first);
            if (number < 0)
            {
                number = kinds.Count;
                kinds.Add(kind);
            }

            if (number > byte.MaxValue) throw new UsageException("a workload has at most 256 kinds of commands");
            numbers[index] = (byte)number;
        }

        return numbers;
    }
}
