namespace RespBenchmark.Workload;

/// <summary>A workload of units: what every grammar's commands become.</summary>
internal sealed class ShapedWorkload : Workload
{
    private readonly UnitShape[] _units;
    private readonly int[] _firstKind;
    private readonly CommandKind[] _kinds;
    private readonly bool[] _isGet;
    private readonly Func<Seat, Schedule> _schedule;
    private readonly IReadOnlyList<string> _scripts = [];
    private readonly long? _commands;

    /// <param name="schedule">Which unit comes when; null: the only one.</param>
    public ShapedWorkload(IReadOnlyList<Unit> units, Func<Seat, Schedule>? schedule = null)
    {
        _units = [.. units.Select(UnitShape.Compile)];
        _kinds = [.. units.SelectMany(KindsOf)];
        if (_kinds.Length > 256) throw new ArgumentException("a workload has at most 256 kinds of commands", nameof(units));
        _isGet = [.. _kinds.Select(kind => kind.Name == "GET")];
        _firstKind = new int[_units.Length];
        for (int unit = 1; unit < _units.Length; unit++) _firstKind[unit] = _firstKind[unit - 1] + _units[unit - 1].Commands;
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
            : new PieceSource(_units, [.. open], _firstKind, _schedule(seat), seat.Sessions, TracksKeys);
    }

    public override bool Verify(int kind, long key, ReadOnlySpan<byte> body) =>
        Verifier is null || key < 0 || !_isGet[kind] || Verifier.Check(key, body);

    private static IEnumerable<CommandKind> KindsOf(Unit unit) =>
        unit.Commands.Select((command, index) => command.Kind with { Continues = index < unit.Commands.Count - 1 });
}
